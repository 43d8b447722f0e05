// Empty: the target that owns the precompiled headers (OddrankOptions.cmake) needs a source.
