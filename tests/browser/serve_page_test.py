#!/usr/bin/env python3
"""Tests the page of `oddrank node --serve` in headless Chromium: the report is shown, read again, and compared."""

import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import html_test
import proc_facts

try:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select
except ImportError:
    pass  # harness.main skips the tests

DEADLINE_S = 120
FRAME = "#frames iframe:not(.coming)"


class ServePageTest(unittest.TestCase):
    def setUp(self):
        self.target = subprocess.Popen([sys.executable, "-c", "def place(): input()\nplace()"],
                                       stdin=subprocess.PIPE)
        self.addCleanup(self.end, self.target)
        proc_facts.wait_until(lambda: proc_facts.syscall(self.target.pid) == (proc_facts.READ, 0), "it reads")
        self.server = subprocess.Popen(
            [harness.Options.oddrank, "node", str(self.target.pid), "--serve", "--samples", "1"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(self.end, self.server)
        self.browser = html_test.open_browser()
        self.addCleanup(self.browser.quit)

    @staticmethod
    def end(process):
        process.kill()
        process.communicate(timeout=DEADLINE_S)

    def one(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def wait_for_report(self, number):
        """Waits until the report with this number is the one in the frame."""
        proc_facts.wait_until(lambda: self.browser.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map(frame => frame.src.split('/').pop()).join()",
            FRAME) == str(number), f"report {number}", DEADLINE_S)

    def check_report(self, words):
        self.browser.switch_to.frame(self.one(FRAME))
        self.assertTrue(self.one("h1").is_displayed())
        self.assertIn(words, self.one("body").text)
        self.browser.switch_to.default_content()

    def test_a_report_is_shown_read_again_and_compared(self):
        self.browser.get(self.server.stdout.readline().strip())
        self.wait_for_report(1)
        self.check_report("place")
        self.assertIn("1 process read once", self.browser.title)
        button = self.one("#read")
        proc_facts.wait_until(button.is_enabled, "it may be read again", DEADLINE_S)
        button.click()
        self.wait_for_report(2)
        self.check_report("place")
        Select(self.one("#compared")).select_by_value("1")
        self.wait_for_report(3)
        self.check_report("place")
        self.assertFalse(self.one("#trouble").is_displayed())
        # Scripts that fail, and what a policy forbids, are said there.
        self.assertEqual(self.browser.get_log("browser"), [])


if __name__ == "__main__":
    harness.main(html_test.needs_browser)
