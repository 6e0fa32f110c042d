"""Tables as notebooks show them."""

from __future__ import annotations

from phicoll.foundations.html_table import html_table, preformatted
from phicoll.foundations.markup import Html, code


def test_cells_are_escaped_unless_they_are_html_already():
    table = html_table(["a & b", "c"], [["1 < 2", code("x<y>")], [3, Html("<b>bold</b>")]])
    assert "<th>a &amp; b</th>" in table
    assert "<td>1 &lt; 2</td><td><code>x&lt;y&gt;</code></td>" in table
    assert "<td>3</td><td><b>bold</b></td>" in table
    assert table.count("<tr>") == 3


def test_sentences_begin_at_the_left_and_a_caption_is_escaped():
    table = html_table(["n", "what"], [[1, "a sentence"]], left=(1,), caption="2 < 3")
    assert "<caption>2 &lt; 3</caption>" in table
    assert "<td>1</td><td style='text-align:left;white-space:normal'>a sentence</td>" in table
    assert "<caption>" not in html_table(["n"], [])


def test_numbers_and_intervals_keep_to_one_line():
    assert html_table(["ns"], [["4.2 [3.9, 5.0]"]]).startswith("<table style='white-space:nowrap'>")


def test_preformatted_text_is_escaped_and_monospaced():
    text = preformatted("a  <b>\n c")
    assert "font-family:monospace" in text
    assert text.endswith(">a  &lt;b&gt;\n c</pre>")
