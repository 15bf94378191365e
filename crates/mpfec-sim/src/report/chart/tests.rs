use super::*;

fn chart(marks: Marks, curves: Vec<Curve>) -> Chart {
    Chart {
        title: "Goodput <of> \"all\"".to_owned(),
        x: Axis::linear("loss, percent"),
        y: Axis::linear("Mbit/s"),
        categories: Vec::new(),
        marks,
        curves,
    }
}

fn point(x: f64, y: f64, half_width: f64) -> Point {
    Point {
        half_width,
        words: format!("{y} at {x}"),
        ..Point::new(x, y)
    }
}

#[test]
fn a_point_has_a_mark_an_error_bar_and_tells_its_value() {
    let svg = chart(
        Marks::Points,
        vec![Curve::new(
            "fmtcp",
            [point(1.0, 8.0, 0.5), point(2.0, 6.0, 0.0)],
        )],
    )
    .to_element();
    assert_eq!(
        svg.matches("class=\"mark\"").count(),
        3,
        "two and the legend's: {svg}"
    );
    assert_eq!(svg.matches("class=\"error\"").count(), 1, "{svg}");
    assert!(svg.contains("<title>8 at 1</title>"), "{svg}");
    assert!(svg.contains("Goodput &lt;of&gt; &quot;all&quot;"), "{svg}");
    assert!(!svg.contains("<style>") && !svg.contains("http"), "{svg}");
}

#[test]
fn bars_stand_in_groups_on_zero() {
    let bars = Chart {
        categories: vec!["5 %".to_owned(), "10 %".to_owned()],
        ..chart(
            Marks::Bars,
            vec![
                Curve::new("a", [point(0.0, 8.0, 0.5), point(1.0, 4.0, 0.5)]),
                Curve::new("b", [point(1.0, 2.0, 0.5)]).with_style(9),
            ],
        )
    };
    let svg = bars.to_element();
    assert_eq!(svg.matches("class=\"bar\"").count(), 3, "{svg}");
    assert_eq!(svg.matches("class=\"bar striped\"").count(), 2, "{svg}");
    assert_eq!(svg.matches("class=\"over\"").count(), 3, "{svg}");
    assert!(
        svg.contains(">5 %</text>") && svg.contains(">10 %</text>"),
        "{svg}"
    );
}

#[test]
fn a_series_is_a_line_in_a_band_with_few_spots() {
    let points = (0..1000).map(|at| point(f64::from(at), 5.0, 1.0));
    let svg = chart(Marks::Band, vec![Curve::new("auto", points)]).to_element();
    assert_eq!(svg.matches("<polygon").count(), 1);
    assert!((40..=60).contains(&svg.matches("class=\"spot\"").count()));
}

#[test]
fn a_file_brings_its_colours_along() {
    let svg = chart(Marks::Points, vec![Curve::new("a", [Point::new(1.0, 2.0)])]).to_svg();
    assert!(svg.contains("prefers-color-scheme: dark"), "{svg}");
    assert!(svg.contains("<title>a: 1, 2</title>"), "{svg}");
}

#[test]
fn what_cannot_be_drawn_is_left_out() {
    let odd = [
        point(f64::NAN, 1.0, 0.0),
        point(1.0, f64::INFINITY, 0.0),
        point(0.0, 1.0, 0.0),
        point(1.0, 1.0, f64::NAN),
    ];
    for marks in [Marks::Points, Marks::Band, Marks::Bars] {
        for is_log in [false, true] {
            let mut chart = chart(marks, vec![Curve::new("odd", odd.clone())]);
            chart.x.is_log = is_log;
            chart.y.is_log = is_log;
            let svg = chart.to_element();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
    let svg = chart(Marks::Points, Vec::new()).to_element();
    assert!(svg.contains("nothing was measured"), "{svg}");
}

#[test]
fn long_names_of_categories_are_slanted_and_shortened() {
    let names: Vec<String> = (0..8)
        .map(|case| format!("case {case}: a rather long name of it"))
        .collect();
    let points = (0..8).map(|case| point(f64::from(case), 1.0, 0.0));
    let chart = Chart {
        categories: names,
        ..chart(Marks::Bars, vec![Curve::new("a", points)])
    };
    let svg = chart.to_element();
    assert_eq!(svg.matches("rotate(-35").count(), 8, "{svg}");
    assert!(svg.contains("case 0: a rather long name…"), "{svg}");
}
