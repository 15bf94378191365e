//! The papers' numbers.

use std::time::Duration;

use mpfec_sched::arrival::{expected_arriving_time, expected_delivery_time, response_time};
use mpfec_sched::delta::{extra_packets, failure};
use mpfec_sched::quality::{path_quality, smooth_cwnd};

fn ms(ms: f64) -> Duration {
    Duration::from_secs_f64(ms / 1e3)
}

fn close(got: Duration, want_ms: f64) {
    let got_ms = got.as_secs_f64() * 1e3;
    assert!(
        (got_ms - want_ms).abs() < 1e-3,
        "{got_ms} ms instead of {want_ms} ms"
    );
}

#[test]
fn ten_per_cent_loss_at_200_ms_is_delivered_after_144_444_ms() {
    // FMTCP Eq. 8 with p = 0.1, RTT = 200 ms, RTO = 400 ms.
    close(expected_delivery_time(0.1, ms(200.0), ms(400.0)), 144.444);
}

#[test]
fn ten_per_cent_loss_at_200_ms_is_answered_after_220_ms() {
    // FMTCP Eq. 9.
    close(response_time(0.1, ms(200.0), ms(400.0)), 220.0);
}

#[test]
fn a_full_window_whose_oldest_packet_left_50_ms_ago_arrives_after_314_444_ms() {
    // FMTCP Eq. 10 with w = 0.
    let delivery = expected_delivery_time(0.1, ms(200.0), ms(400.0));
    let response = response_time(0.1, ms(200.0), ms(400.0));
    close(
        expected_arriving_time(delivery, response, false, ms(50.0)),
        314.444,
    );
    close(
        expected_arriving_time(delivery, response, true, ms(50.0)),
        144.444,
    );
}

#[test]
fn an_overdue_answer_does_not_make_a_packet_arrive_before_it_can() {
    let delivery = expected_delivery_time(0.1, ms(200.0), ms(400.0));
    let response = response_time(0.1, ms(200.0), ms(400.0));
    assert_eq!(
        expected_arriving_time(delivery, response, false, ms(900.0)),
        delivery
    );
}

#[test]
fn a_window_of_six_needs_one_extra_packet_up_to_five_per_cent_and_two_at_ten() {
    // FMTCP Eq. 4 and section VI-A, delta-hat = 5 %.
    for (loss, extra) in [(0.01, 1), (0.02, 1), (0.05, 1), (0.1, 2)] {
        assert_eq!(extra_packets(6, loss, 0.05), extra, "at a loss of {loss}");
    }
}

#[test]
fn the_failure_probability_is_the_binomial_tail_of_equation_4() {
    // delta(1) for w = 6, p = 0.1: 1 - 0.9^7 - 7 * 0.1 * 0.9^6.
    let want = 1.0 - 0.9f64.powi(7) - 0.7 * 0.9f64.powi(6);
    assert!((failure(6, 0, &[(7, 0.1)]) - want).abs() < 1e-12);
}

#[test]
fn a_window_of_15_behind_which_5_wait_is_8_75_on_average_at_ten_per_cent() {
    // PNC Eq. 13 to 15: beta = 2, lambda = 7 / 12.
    assert!((smooth_cwnd(5.0, 15.0, 1.0, 0.1) - 8.75).abs() < 1e-9);
    // Bytes instead of packets make no difference.
    assert!((smooth_cwnd(5_000.0, 15_000.0, 1_000.0, 0.1) - 8_750.0).abs() < 1e-6);
    assert_eq!(smooth_cwnd(5.0, 15.0, 1.0, 0.0), 15.0);
}

#[test]
fn five_packets_before_a_window_of_15_make_a_quality_of_113_492_ms() {
    // PNC Eq. 11 with RTT = 100 ms, PL = 0.1.
    close(path_quality(5.0, 15.0, 1.0, 0.1, ms(100.0)), 113.492);
    close(path_quality(0.0, 15.0, 1.0, 0.1, ms(100.0)), 50.0);
}

#[test]
fn a_packet_behind_a_full_window_of_five_arrives_after_30_ms_on_a_path_of_20_ms() {
    // PNC section IV-D: five packets outstanding on path B, so the next waits a round trip.
    close(path_quality(5.0, 5.0, 1.0, 0.0, ms(20.0)), 30.0);
    close(path_quality(0.0, 5.0, 1.0, 0.0, ms(200.0)), 100.0);
}
