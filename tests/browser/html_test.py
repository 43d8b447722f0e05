#!/usr/bin/env python3
"""Tests the page of `--html` in headless Chromium: its contents, and how it reacts to mouse and keyboard.

    html_test.py --oddrank PATH        ODDRANK_WRITE_CAPTURE names the program of tests/support

ODDRANK_SCREENSHOTS=FOLDER keeps a screenshot of each test.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
from harness import Options

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError:
    webdriver = None

SCREENSHOTS = os.environ.get("ODDRANK_SCREENSHOTS")


def needs_browser():
    if webdriver is None:
        return "no Selenium for Python (Debian: python3-selenium)"
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        return "no Chromium (Debian: chromium, chromium-driver)"
    return None


def open_browser():
    options = webdriver.ChromeOptions()
    # Chromium's sandbox does not work for root, and the page is our own.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage",
                     "--window-size=1300,1600"):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    browser.set_page_load_timeout(60)
    return browser


class HtmlTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="oddrank-html-")
        cls.browser = open_browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        shutil.rmtree(cls.folder)

    def tearDown(self):
        if SCREENSHOTS:
            self.browser.save_screenshot(f"{SCREENSHOTS}/{self.id().split('.')[-1]}.png")
        # Scripts that fail write their errors there.
        self.assertEqual(self.browser.get_log("browser"), [])

    def open(self, name):
        capture, page = f"{self.folder}/{name}.odd", f"{self.folder}/{name}.html"
        subprocess.run([os.environ["ODDRANK_WRITE_CAPTURE"], name, capture], check=True,
                       timeout=240)
        run = subprocess.run([Options.oddrank, "report", capture, "--html", page, "-q"],
                             timeout=240, check=False, capture_output=True, text=True)
        self.assertIn(run.returncode, (0, harness.PARTIAL), run.stderr)
        self.browser.get(f"file://{page}")
        return run.stdout

    def one(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def cell(self, rank):
        return self.one(f'#grid [data-rank="{rank}"]')

    def test_verdict_and_chain(self):
        sentence = self.open("input_stall")
        self.assertEqual(f"{self.one('#kind span').text}: {self.one('h1').text}", sentence.strip())
        self.assertIn("8/8 ranks on 4/4 nodes", self.one("#coverage").text)
        self.assertIn("ranks 0-4,6-7 wait for rank 5", self.one("#chain").text)
        self.assertGreater(len(self.all("#advice li")), 0)

    def test_the_picture_leads_to_the_culprit(self):
        self.open("input_stall")
        self.assertEqual(len(self.all("#waits svg .edge")), 4)
        culprits = self.all("#waits svg .culprit")
        self.assertEqual(len(culprits), 1)
        self.assertIn("1 rank: 5", culprits[0].text)
        # No box is drawn on top of another.
        boxes = [(box.rect["x"], box.rect["y"]) for box in self.all("#waits svg .box")]
        self.assertEqual(len(set(boxes)), len(boxes))

    def test_the_whole_graph_opens_by_a_click(self):
        self.open("three_dimensional")
        chain = len(self.all("#waits svg .edge"))
        self.one("#waits-more").click()
        self.assertGreater(len(self.all("#waits svg .edge")), max(4, chain))
        self.one("#waits-more").click()
        self.assertEqual(len(self.all("#waits svg .edge")), chain)

    def test_each_rank_has_a_lane_of_its_calls(self):
        self.open("calls")
        heads = [head.text for head in self.all("#calls thead th")]
        self.assertEqual(heads, ["Ranks", "default #1", "group tp #1", "default #2"])
        lanes = [[cell.text for cell in lane.find_elements(By.CSS_SELECTOR, "th, td")]
                 for lane in self.all("#calls tbody tr")]
        self.assertEqual([lane[0] for lane in lanes],
                         ["rank 6"] + [f"rank {rank}" for rank in (0, 1, 2, 3, 4, 5, 7)])
        self.assertEqual(lanes[0][1:], ["all_reduce", "not called", "all_reduce\nopen"])
        self.assertEqual(lanes[1][1:], ["all_reduce", "broadcast", "all_reduce\nopen"])
        self.assertEqual(len(self.all("#calls tr.culprit")), 1)

    def test_the_keys_of_a_store_and_who_waits_for_which(self):
        self.open("store")
        self.assertIn("has 3 keys", self.one("#stores-rows p").text)
        rows = [[cell.text for cell in row.find_elements(By.CSS_SELECTOR, "td")]
                for row in self.all("#stores tbody tr")]
        self.assertEqual(rows, [
            ["run/ready/2", "3", "ranks 0-1,3", "rank 2 (by the other ranks' keys)"],
            ["run/<b>bold", "1", "not known", "not known"]])

    def test_a_report_without_calls_has_no_lanes(self):
        self.open("input_stall")
        self.assertFalse(self.one("#calls").is_displayed())
        self.assertFalse(self.one("#stores").is_displayed())

    def test_the_culprit_is_open_and_another_rank_opens_by_a_click(self):
        self.open("input_stall")
        self.assertIn("rank 5 on n2", self.one("#rank h3").text)
        self.assertIn("DataLoader worker", self.one("#rank").text)
        self.cell(3).click()
        self.assertIn("rank 3 on n1", self.one("#rank h3").text)
        self.assertEqual(self.cell(3).get_attribute("aria-selected"), "true")
        self.assertIn("all_reduce", self.one("#rank .stack").text)

    def test_the_keyboard_moves_in_the_grid(self):
        self.open("input_stall")
        self.browser.execute_script("arguments[0].focus()", self.cell(0))
        for key in (Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.HOME):
            self.browser.switch_to.active_element.send_keys(key)
        self.assertEqual(self.browser.switch_to.active_element.get_attribute("data-rank"), "2")
        self.browser.switch_to.active_element.send_keys(Keys.ENTER)
        self.assertIn("rank 2", self.one("#rank h3").text)

    def test_filter_by_ranks_host_and_frame(self):
        self.open("input_stall")
        kept = lambda: {int(cell.get_attribute("data-rank")) for cell in self.all("#grid .cell:not(.off)")}
        for words, ranks in (("2-3,7", {2, 3, 7}), ("n3", {6, 7}), ("dataloader.py", {5}),
                             ("no such thing", set()), ("", set(range(8)))):
            with self.subTest(words=words):
                box = self.one("#filter")
                box.clear()
                box.send_keys(words + Keys.SPACE)
                self.assertEqual(kept(), ranks)

    def test_search_and_zoom_in_the_stacks(self):
        self.open("input_stall")
        before = len(self.all("#stacks .frame"))
        self.one("#search").send_keys("average_gradients")
        self.assertEqual(self.one("#search-count").text, "1 frame")
        self.one("#stacks .frame.hit").click()
        self.assertLess(len(self.all("#stacks .frame")), before)
        self.assertIn("average_gradients", self.all("#stacks .frame")[0].text)
        self.one("#zoom-out").click()
        self.assertEqual(len(self.all("#stacks .frame")), before)

    def test_who_is_behind_is_on_the_left_and_says_so(self):
        self.open("late_loader")
        self.assertTrue(self.one("#stacks-order").is_displayed())
        left, right = (self.one(f'#stacks .frame[title*="{function}"]')
                       for function in ("step=1206", "step=1207"))
        self.assertLess(left.rect["x"], right.rect["x"])
        self.assertRegex(left.accessible_name, "^step=1206, behind: ")
        self.assertRegex(right.accessible_name, "^step=1207: average_gradients")
        self.open("input_stall")
        self.assertFalse(self.one("#stacks-order").is_displayed())

    def test_all_frames_on_request(self):
        self.open("input_stall")
        shown = lambda: len([row for row in self.all("#rank .stack tr") if row.is_displayed()])
        before = shown()
        self.one("#all-frames").click()
        self.assertGreater(shown(), before)

    def test_ranks_that_moved_are_told_sample_by_sample(self):
        self.open("healthy")
        self.assertIn("8 of 8 ranks that were read moved between the 2 samples", self.one("#timeline").text)
        rows = self.all(".timeline > tbody > tr")
        self.assertEqual([row.find_element(By.TAG_NAME, "button").text for row in rows],
                         ["ranks 1-2,5-7", "ranks 0,3-4"])
        self.assertEqual([head.text for head in self.all(".timeline thead th")],
                         ["Ranks", "Sample 1", "between", "Sample 2, the last"])
        first, between, last = rows[1].find_elements(By.CSS_SELECTOR, ":scope > td")
        # Ranks 1-2,5-7 are there now, so the place has their letter.
        self.assertRegex(first.text, r"^A\s+compile_kernels \(demo/train.py:51\)\s+S sleeps$")
        self.assertEqual(between.text, "210 ms of CPU\nnever woke")
        self.assertRegex(last.text, r"^B\s+average_gradients")
        # The keyboard opens the stack, and the rank too.
        summary = first.find_element(By.TAG_NAME, "summary")
        self.browser.execute_script("arguments[0].focus()", summary)
        summary.send_keys(Keys.ENTER)
        # An opened element is filled a moment later.
        stack = WebDriverWait(self.browser, 30).until(lambda _: first.find_elements(By.CLASS_NAME, "stack"))
        self.assertIn("train_step", stack[0].text)
        rows[1].find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
        self.assertIn("rank 0 on n0", self.one("#rank h3").text)
        self.one("#filter").send_keys("3")
        self.assertEqual([row.is_displayed() for row in self.all(".timeline > tbody > tr")], [False, True])

    def test_ranks_that_stood_still_are_told_in_a_line(self):
        self.open("input_stall")
        self.assertIn("All 8 ranks that were read were at the same place in both samples, used no CPU",
                      self.one("#timeline-words").text)
        self.assertFalse(self.one("#timeline-rows").is_displayed())
        self.open("busy_rank")
        self.assertEqual([row.find_element(By.TAG_NAME, "th").text.splitlines()[:2]
                          for row in self.all(".timeline > tbody > tr")],
                         [["rank 1", "at one place"], ["ranks 0,2-7", "at one place"]])
        self.assertIn("480 ms of CPU", self.all(".timeline > tbody > tr")[0].text)

    def test_asyncio_tasks_of_a_rank(self):
        self.open("tasks")
        self.assertEqual(self.one("#rank .tasks summary").text, "2 tasks that have not ended")
        shown = [task.text for task in self.all("#rank .tasks div")]
        self.assertIn("Task “load” waits for <Future>", shown[0])
        self.assertIn("read_shard", shown[0])
        self.assertIn("Task “all” waits for task \"load\"", shown[1])

    def test_ranks_that_were_not_read_look_different(self):
        self.open("unread_node")
        self.assertEqual({cell.get_attribute("data-rank") for cell in self.all("#grid .cell.unread")},
                         {"4", "5"})
        self.assertIn("not read", self.one("#unread").text)

    def at_width(self, width, height=900):
        """Sets the size of the page's window, until the test ends."""
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                     {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.addCleanup(self.browser.execute_cdp_cmd, "Emulation.clearDeviceMetricsOverride", {})

    def test_at_a_thousand_ranks_the_chain_to_the_root_is_on_the_first_screen(self):
        for width in (1400, 800):
            with self.subTest(width=width):
                self.at_width(width)
                self.open("mesh:8x16x8")
                boxes = self.all("#waits svg .box")
                self.assertEqual(len(boxes), 3)
                texts = [node.text for node in self.all("#waits svg g[data-node]")]
                self.assertTrue(any("889 ranks" in text for text in texts), texts)
                for box in boxes:
                    place = self.browser.execute_script(
                        "const r = arguments[0].getBoundingClientRect(); return [r.left, r.right, r.top, r.bottom]", box)
                    self.assertGreaterEqual(place[0], 0)
                    self.assertLessEqual(place[1], width)
                    self.assertLessEqual(place[3], 900)
                self.assertEqual(len(self.all("#waits svg .culprit")), 1)

    def test_on_a_narrow_screen_the_root_comes_first_and_the_picture_scrolls(self):
        self.at_width(480)
        self.open("mesh:8x16x8")
        left = {node.get_attribute("class"): node.find_element(By.CSS_SELECTOR, ".box").rect["x"]
                for node in self.all("#waits svg g[data-node]")}
        self.assertEqual(left["culprit"], min(left.values()))
        scrolls, bar = self.browser.execute_script(
            "const w = document.querySelector('#waits'); return [w.scrollWidth > w.clientWidth, w.offsetHeight - w.clientHeight]")
        self.assertTrue(scrolls)
        self.assertGreater(bar, 5)  # it is visible

    def test_the_grid_has_the_layout_of_the_job_and_the_colours_of_roles(self):
        self.open("mesh:8x16x8")
        self.assertEqual(len(self.all("#grid .block")), 8)
        self.assertEqual(len(self.all("#grid .row")), 8 * 16)
        self.assertIn("dp 8 × pp 16 × tp 8", self.one("#grid-words").text)
        self.assertIn("dp2", self.cell(341).find_element(By.XPATH, "../..").find_element(By.TAG_NAME, "h4").text)
        self.assertEqual([row.text for row in self.all("#legend li")][0].splitlines()[-1],
                         "the root: holds the others up (1)")
        self.assertEqual(len(self.all("#legend li")), 3)
        self.assertEqual(len(self.all("#grid .cell.direct")), 16)
        self.assertEqual(len(self.all("#grid .cell.root")), 1)
        self.one("#filter").send_keys("dp3")
        self.assertEqual(len([block for block in self.all("#grid .block") if block.is_displayed()]), 1)

    def test_without_a_layout_hosts_are_rows_and_unread_ranks_have_a_role(self):
        self.open("unread_node")
        self.assertEqual([row.text.split()[0] for row in self.all("#grid .row")], ["n0", "n1", "n2", "n3"])
        self.assertTrue(any("not read (" in row.text for row in self.all("#legend li")))

    def test_pointing_at_a_rank_marks_its_group_everywhere(self):
        self.open("input_stall")
        self.browser.execute_script(
            "arguments[0].dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))", self.cell(3))
        marked = {cell.get_attribute("data-rank") for cell in self.all("#grid .cell.marked")}
        self.assertEqual(marked, {"0", "1", "2", "3", "4", "6", "7"})
        for place in ("#waits g.marked", "#groups .marked", "#stacks .frame.marked"):
            self.assertGreater(len(self.all(place)), 0, place)

    def test_every_control_has_a_name(self):
        self.open("input_stall")
        for control in self.all("button, input, [role=button], [role=gridcell]"):
            if control.is_displayed():
                self.assertNotEqual(control.accessible_name, "", control.get_attribute("outerHTML"))

    def test_on_a_phone_nothing_is_cut_off(self):
        """Pictures, the grid and tables scroll by themselves; the page does not, since nobody finds words that
        begin on the screen and end beside it."""
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                     {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True})
        try:
            for name in ("input_stall", "calls", "tasks", "big:512"):
                with self.subTest(name=name):
                    self.open(name)
                    self.assertLessEqual(self.browser.execute_script(
                        "return document.documentElement.scrollWidth"), 390)
                    self.one("#grid .cell").click()
                    names = self.browser.execute_script(
                        "return [...document.querySelectorAll('article .stack td')].map("
                        "cell => cell.getBoundingClientRect().right)")
                    self.assertLessEqual(max(names), 390)
        finally:
            self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def test_a_large_job_opens_and_filters(self):
        self.open("big:512")
        self.assertEqual(len(self.all("#grid .row")), 64)
        # The culprit's host is visible.
        self.assertLess(abs(self.cell(170).rect["y"] - self.one("#grid").rect["y"]), 400)
        took = self.browser.execute_script(
            "const began = performance.now(); applyFilter('169-170'); document.body.offsetHeight;"
            "return [performance.now() - began, performance.timing.domComplete -"
            " performance.timing.navigationStart, document.querySelectorAll('#grid .cell:not(.off)').length]")
        print(f"filtered in {took[0]:.0f} ms, opened in {took[1]} ms")
        self.assertEqual(took[2], 2)
        self.assertEqual(len([row for row in self.all("#grid .row") if row.is_displayed()]), 1)


if __name__ == "__main__":
    harness.main(needs_browser)
