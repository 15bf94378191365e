"""Tests of what measures beside the kernel: python3 -m unittest discover -s benches/kernel"""

import threading
import unittest
from types import SimpleNamespace

import compare
import lab
import links
import tcp


class Links(unittest.TestCase):
    def test_a_point_of_the_grid_is_read_from_its_name(self):
        text = links.point("7: 1.3/390/28@24 16/190@210 1.2/10/23x3.3@5")
        self.assertEqual(text.count("[[path]]"), 3)
        self.assertIn("rate_mbps = 1.3, delay_ms = 195, queue_packets = 24", text)
        self.assertIn("forward = { loss_percent = 28 }", text)
        self.assertIn("forward = { burst = { percent = 23, length = 3.3 } }", text)
        self.assertEqual(text.count("forward"), 2, "the second path loses nothing")

    def test_mptcp_begins_where_least_is_lost(self):
        self.assertEqual(links.least_lossy("20: 29/99/29x4.9@479 2.8/22/1@8"), 2)
        self.assertEqual(links.least_lossy("1: 3/9/2@5 4/9@5 5/9@5"), 2)

    def test_an_access_has_a_slower_way_back(self):
        text = links.access("dsl and lte")
        self.assertEqual(text.count("[[path]]"), 2)
        self.assertIn("backward = { rate_mbps = 2, delay_ms = 20, queue_packets = 100 }", text)
        self.assertIn("forward = { rate_mbps = 30, delay_ms = 30, queue_bdp = 1, loss_percent = 2 }", text)

    def test_what_is_no_point_is_refused(self):
        with self.assertRaises(ValueError):
            links.point("1: 10/20")


class Finished(unittest.TestCase):
    def test_what_takes_too_long_may_tidy_up(self):
        script = "trap 'echo tidied; exit' TERM; sleep 60 >/dev/null 2>&1 & wait"
        self.assertEqual(lab.finished(["sh", "-c", script], ".", 0.3), ("tidied\n", ""))

    def test_what_a_command_prints_is_told(self):
        self.assertEqual(lab.finished(["sh", "-c", "echo a; echo b >&2"], ".", 10), ("a\n", "b\n"))


class Count(unittest.TestCase):
    def counted(self, arrivals):
        """Of (second, bytes), the last bytes `None` for the end; warm-up and time are 5 s and 10 s."""
        now = 0.0

        def receive(limit):
            nonlocal now
            if not arrivals or arrivals[0][0] > limit:
                now = limit
                return 0
            now, got = arrivals.pop(0)
            return got

        return tcp.count(receive, lambda: now, 5.0, 10.0)

    def test_what_comes_in_the_warm_up_and_after_the_end_does_not_count(self):
        arrivals = [(1.0, 7), (4.9, 7), (5.0, 1), (9.0, 10), (14.9, 100), (15.0, 7), (16.0, 7)]
        self.assertEqual(self.counted(arrivals), 111)

    def test_a_flow_that_stands_still_is_measured_to_the_end(self):
        self.assertEqual(self.counted([(6.0, 5)]), 5)

    def test_a_flow_that_ends_early_has_no_result(self):
        self.assertIsNone(self.counted([(6.0, 5), (7.0, None)]))


class Runs(unittest.TestCase):
    def test_flows_that_start_later_are_measured_in_the_same_seconds(self):
        first, second = lab.Flow("cubic"), lab.Flow("bbr", path=2, start=3.0)
        self.assertIn("--warmup 20 --time 60", first.command("mpfec", 20.0, 60.0))
        command = second.command("mpfec", 20.0, 60.0)
        self.assertIn("--warmup 17 --time 60", command)
        self.assertIn("10.77.2.2 --bind 10.77.2.1 --congestion bbr", command)
        self.assertTrue(command.endswith("--after 3 "), "Python starts before the flow does")

    def test_a_flow_back_is_fetched_over_its_path(self):
        command = lab.Flow("cubic", path=2, start=2.0, back=True).command("mpfec", 5.0, 10.0)
        self.assertIn("fetch 10.77.2.2 --bind 10.77.2.1 --congestion cubic", command)
        self.assertIn("--warmup 3 --time 10", command)

    def test_an_mptcp_flow_has_a_subflow_on_every_path(self):
        run = lab.Run("pnc", 3, (lab.Flow("mptcp-cubic"),), 5.0, 10.0)
        script = run.client("mpfec")
        self.assertIn("--congestion cubic --warmup 5 --time 10 --mptcp", script)
        for path in (2, 3):
            self.assertIn(f"ip mptcp endpoint add 10.77.{path}.1", script)
        self.assertNotIn("endpoint add 10.77.1.1", script, "where the connection begins")

    def test_a_fair_share_counts_headers(self):
        flows = (lab.Flow("mpfec"), lab.Flow("cubic"))
        results = [{"goodput_mbps": 5 * 0.957}, {"goodput_mbps": 5 * 1448 / 1500}]
        crossed = [{"forward": {"packets": 200, "queue_drops": 3}}]
        for got, want in zip(compare.share(10, flows, (results, crossed)), [1.0, 1.0, 1.5]):
            self.assertAlmostEqual(got, want)

    def test_blocks_are_told_by_their_delay_and_what_both_flows_carry(self):
        mpfec = {"goodput_mbps": 2.0, "block_delay_ms": {"p50": 60.0, "p99": 90.0}}
        crossed = [{"forward": {"packets": 200, "queue_drops": 3}}]
        told = compare.delayed(([mpfec, {"goodput_mbps": 7.0}], crossed))
        self.assertEqual(told, [60.0, 90.0, 2.0, 7.0, 1.5])

    def test_the_last_line_of_a_kind_is_the_result(self):
        text = 'words\n{"type":"a","n":1}\n{"type":"b"}\n{"type":"a","n":2}\n{"type":"c"}\n'
        self.assertEqual(lab.result(text, "a")["n"], 2)
        self.assertEqual(lab.result(text)["type"], "c")


class Loopback(unittest.TestCase):
    def result(self, verb, run):
        """What a short flow over loopback comes to."""
        server = tcp.listen(SimpleNamespace(mptcp=False, port=0))
        threading.Thread(target=tcp.accept, args=(server,), daemon=True).start()
        words = [verb, "127.0.0.1", "--port", str(server.getsockname()[1])]
        words += ["--warmup", "0.1", "--time", "0.2"]
        return run(tcp.parser().parse_args(words))

    def test_a_flow_over_loopback_is_counted_by_the_server(self):
        result = self.result("send", tcp.measure)
        self.assertGreater(result["goodput_mbps"], 10)
        self.assertEqual(result["seconds"], 0.2)

    def test_a_flow_back_is_counted_by_the_client(self):
        result = self.result("fetch", tcp.fetched)
        self.assertGreater(result["goodput_mbps"], 10)
        self.assertEqual(result["seconds"], 0.2)


if __name__ == "__main__":
    unittest.main()
