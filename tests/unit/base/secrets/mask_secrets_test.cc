#include "base/secrets/mask_secrets.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

using oddrank::mask_command;
using oddrank::mask_text;
using oddrank::names_secret;

namespace {

std::string mask(const std::vector<std::string>& arguments, std::size_t limit = 4096) {
  return mask_command(arguments, limit);
}

}  // namespace

TEST_CASE("names of secrets are distinguished from other names") {
  for (const char* name :
       {"--token", "HF_TOKEN", "WANDB_API_KEY", "--api-key", "apikey", "password", "db.password",
        "--hftoken", "AWS_SECRET_ACCESS_KEY", "--auth", "MY_CREDENTIALS", "PASSWD", "userpass",
        "dbPassword", "APIKey", "pw", "cookie", "private"}) {
    INFO(name);
    CHECK(names_secret(name));
  }
  for (const char* name : {"--tokenizer", "--max-tokens", "monkey", "keyboard", "--data", "",
                           "author", "passes", "tokens", "pad_token_id", "bypass",
                           "num_key_value_heads", "password_file", "PWD", "private_network"}) {
    INFO(name);
    CHECK_FALSE(names_secret(name));
  }
}

TEST_CASE("values of secrets are masked in every spelling") {
  CHECK(mask({"train.py", "--api-key=abc", "--lr", "1"}) == "train.py --api-key=*** --lr 1");
  CHECK(mask({"train.py", "--token", "abc", "--lr", "1"}) == "train.py --token *** --lr 1");
  CHECK(mask({"train.py", "--token", "a b c"}) == "train.py --token ***");
  CHECK(mask({"env", "WANDB_API_KEY=abc", "python"}) == "env WANDB_API_KEY=*** python");
  CHECK(mask({"bash", "-c", "export HF_TOKEN='abc'; python t.py --secret x && y"}) ==
        "bash -c export HF_TOKEN='***'; python t.py --secret *** && y");
  CHECK(mask({"t.py", "--password=a, b'c"}) == "t.py --password=***");
  CHECK(mask({"t.py", "--password", "--x", "1"}) == "t.py --password *** 1");
  CHECK(mask({"x", R"({"password": "abc", "lr": 1})"}) == R"(x {"password": "***", "lr": 1})");
  CHECK(mask({"curl", "-H", "Authorization: Bearer abc"}) == "curl -H Authorization: ***");
  CHECK(mask({"x", "s3://user:abc@host/p"}) == "x s3://user:***@host/p");
}

TEST_CASE("tokens of known shape are masked wherever they stand") {
  CHECK(mask({"x", "hf_AbCdEfGhIjKlMnOpQrSt"}) == "x ***");
  CHECK(mask({"x", "--url=ghp_0123456789abcdefABCD"}) == "x --url=***");
  CHECK(mask({"x", "hf_models/base"}) == "x hf_models/base");
  CHECK(mask({"x", "sk-learn"}) == "x sk-learn");
}

TEST_CASE("text that is no secret stays") {
  const std::string line =
      "python -u train.py --tokenizer /data/tok --max-tokens=4096 --url http://n0:29500/x?a=b";
  CHECK(mask_text(line) == line);
  CHECK(mask({"a", "--use-auth", "--lr", "3"}) == "a --use-auth --lr 3");
  CHECK(mask_text("the key to the door") == "the key to the door");
}

TEST_CASE("what is masked already stays as it is") {
  for (const char* text : {"t.py --token *** --lr 3", "password=***", R"({"token": "***", "a": 1})",
                           "https://bob:***@n0/x", "curl -H Authorization: ***"}) {
    CHECK(mask_text(text) == text);
  }
}

TEST_CASE("summaries of Python objects show no secret") {
  for (const char* text :
       {"{'key': <Tensor (2, 3) float32 cuda:0>, 'lr': 3}", "{'token': <dict of 3>}",
        "Config(api_key=***, query=<Tensor () int8 cpu>)"}) {
    CHECK(mask_text(text) == text);
  }
  for (const char* text : {"password=<hunter2>", "password=<hunter 2>", "password=<a of 3>b",
                           "password=<a (b) c>", "password=<x of y>", "password=<> of 3>"}) {
    CHECK(mask_text(text) == "password=***");
  }
}

TEST_CASE("long and repetitive texts take no long time") {
  for (const char* part : {"hf_", "eyJ-", "://", "a:b@", "-----BEGIN PRIVATE KEY", "password=\"",
                           "/", "token", "AKIA", "Bearer ", "12345678:AA", "'token', ", "-p "}) {
    std::string text;
    while (text.size() < 65536) {
      text += part;
    }
    CHECK(mask_text(text).size() <= text.size() + 3);
  }
}

TEST_CASE("odd command lines") {
  CHECK(mask({}).empty());
  CHECK(mask({"", "", "x"}) == "x");
  CHECK(mask({"a\nb\x1b[2J"}) == "a b [2J");
  CHECK(mask({std::string(100000, 'x')}).size() == 4096);
  CHECK(mask({"--token"}) == "--token");
  CHECK(mask({"--token="}) == "--token=");
  CHECK(mask({"token:", "x"}) == "token: x");
  CHECK(mask({"://", "a://", "a://@", "a://:@b"}) ==
        "://"
        " a:// a://@ a://:@b");
}
