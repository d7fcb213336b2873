//! The test environment as boxes: where load comes from, where it goes, where data are stored.

use super::label::{LINE, wrapped};
use crate::document::Figure;
use crate::document::NARROW;
use crate::subject::Diagram;
use crate::svg::{Anchor, Svg};
use crate::table::{Column, Table};

const CAPTION: &str = "Where the load came from and where the data went.";

/// Most lines of text in a box, and of a name of a connection.
const BOX_LINES: usize = 10;
const WIRE_LINES: usize = 5;

/// Room between text and the edge of its box.
const MARGIN: f64 = 10.0;

/// From a frame to the boxes in it.
const FRAME: f64 = 14.0;

/// A box with its text, already cut into lines; the first is its name.
struct Block {
    lines: Vec<String>,
    corner: (f64, f64),
    size: (f64, f64),
}

impl Block {
    fn new(text: &[String], width: f64) -> Block {
        let cut = |line: &String| wrapped(line, width - 2.0 * MARGIN, 3);
        let lines: Vec<String> = text.iter().flat_map(cut).take(BOX_LINES).collect();
        let height = LINE * lines.len().max(1) as f64 + 2.0 * MARGIN;
        Block { lines, corner: (0.0, 0.0), size: (width, height) }
    }

    fn at(self, corner: (f64, f64)) -> Block {
        Block { corner, ..self }
    }

    fn draw(&self, svg: &mut Svg) {
        svg.rect(self.corner, self.size, "box");
        for (at, line) in self.lines.iter().enumerate() {
            let class = if at == 0 { "strong" } else { "tick" };
            let place = (self.corner.0 + MARGIN, self.corner.1 + MARGIN + LINE * (at as f64 + 0.8));
            svg.text(place, Anchor::Start, class, line);
        }
    }

    fn right(&self) -> (f64, f64) {
        (self.corner.0 + self.size.0, self.corner.1 + 0.5 * self.size.1)
    }

    fn left(&self) -> (f64, f64) {
        (self.corner.0, self.corner.1 + 0.5 * self.size.1)
    }

    fn top(&self) -> (f64, f64) {
        (self.corner.0 + 0.5 * self.size.0, self.corner.1)
    }

    fn bottom(&self) -> (f64, f64) {
        (self.corner.0 + 0.5 * self.size.0, self.corner.1 + self.size.1)
    }
}

/// `None` without a server.
pub fn draw(id: &str, diagram: &Diagram) -> Option<Figure> {
    diagram.server.first()?;
    Some(Figure::drawn(id, CAPTION, table(diagram), |width| {
        if width > NARROW { across(diagram, width) } else { down(diagram, width) }
    }))
}

fn table(diagram: &Diagram) -> Table {
    let mut rows = vec![
        ("load generator", diagram.client.join("; ")),
        ("connection", diagram.connection.clone()),
        ("server", diagram.server.join("; ")),
    ];
    rows.extend(diagram.storage.iter().map(|storage| ("storage", storage.join("; "))));
    if diagram.same_machine {
        rows.push(("load generator and server", "on the same machine".to_owned()));
    }
    rows.retain(|row| !row.1.is_empty());
    let (parts, texts): (Vec<&str>, Vec<String>) = rows.into_iter().unzip();
    Table::new(vec![
        Column::words("part", parts.into_iter().map(str::to_owned).collect()),
        Column::words("what it is", texts),
    ])
}

fn client(diagram: &Diagram) -> Vec<String> {
    if diagram.client.is_empty() { vec!["Load generator".to_owned()] } else { diagram.client.clone() }
}

/// Load, server and storage from left to right.
fn across(diagram: &Diagram, width: f64) -> String {
    let (room, gap) = (190.0, 0.5 * (width - 3.0 * 190.0 - 2.0 * FRAME));
    let top = if diagram.same_machine { 2.0 * LINE } else { 6.0 };
    let (client, server) = (Block::new(&client(diagram), room), Block::new(&diagram.server, room));
    let storage: Vec<Block> = diagram.storage.iter().map(|text| Block::new(text, room)).collect();
    let stacked = storage.iter().map(|block| block.size.1 + 12.0).sum::<f64>() - 12.0;
    let wire = wrapped(&diagram.connection, gap - 6.0, WIRE_LINES);
    let height = client.size.1.max(server.size.1).max(stacked).max(2.0 * LINE * (wire.len() + 1) as f64);
    let centred = |block: Block, x: f64| {
        let y = top + 0.5 * (height - block.size.1);
        block.at((x, y))
    };
    let client = centred(client, FRAME);
    let server = centred(server, FRAME + room + gap);
    let bottom = top + height + if diagram.same_machine { FRAME + 2.0 } else { 6.0 };
    let mut svg = Svg::new(width, bottom, "The test environment: load generator, server and storage");
    if diagram.same_machine {
        let right = if frames_storage(diagram) { width - 4.0 } else { server.right().0 + FRAME - 2.0 };
        same_machine(&mut svg, (2.0, LINE + 2.0), (right, bottom - LINE - 4.0));
    }
    arrow(&mut svg, client.right(), server.left());
    let middle = 0.5 * (client.right().0 + server.left().0);
    for (at, line) in wire.iter().rev().enumerate() {
        svg.text((middle, server.left().1 - 8.0 - LINE * at as f64), Anchor::Middle, "tick halo", line);
    }
    let mut y = top + 0.5 * (height - stacked);
    for block in storage {
        let block = block.at((width - FRAME - room, y));
        arrow(&mut svg, server.right(), block.left());
        block.draw(&mut svg);
        y += block.size.1 + 12.0;
    }
    client.draw(&mut svg);
    server.draw(&mut svg);
    svg.finish()
}

/// The same from top to bottom.
fn down(diagram: &Diagram, width: f64) -> String {
    let room = width - 2.0 * FRAME;
    let mut y = if diagram.same_machine { 2.0 * LINE } else { 4.0 };
    let mut svg = Svg::new(width, 0.0, "The test environment: load generator, server and storage");
    let client = Block::new(&client(diagram), room).at((FRAME, y));
    y = client.bottom().1 + 36.0;
    let server = Block::new(&diagram.server, room).at((FRAME, y));
    y = server.bottom().1;
    if diagram.same_machine && !frames_storage(diagram) {
        same_machine(&mut svg, (2.0, LINE + 2.0), (width - 4.0, y - LINE + 10.0));
        y += 8.0;
    }
    arrow(&mut svg, client.bottom(), server.top());
    let wire = wrapped(&diagram.connection, 0.5 * room - 20.0, 1).concat();
    svg.text((client.bottom().0 + 12.0, client.bottom().1 + 22.0), Anchor::Start, "tick", &wire);
    for (at, text) in diagram.storage.iter().enumerate() {
        y += if at == 0 { 30.0 } else { 10.0 };
        let block = Block::new(text, room).at((FRAME, y));
        if at == 0 {
            arrow(&mut svg, server.bottom(), block.top());
        }
        block.draw(&mut svg);
        y = block.bottom().1;
    }
    if diagram.same_machine && frames_storage(diagram) {
        same_machine(&mut svg, (2.0, LINE + 2.0), (width - 4.0, y - LINE + 10.0));
        y += 12.0;
    }
    client.draw(&mut svg);
    server.draw(&mut svg);
    svg.with_height(y + 6.0).finish()
}

/// Whether the frame of the machine goes around the storage too.
fn frames_storage(diagram: &Diagram) -> bool {
    diagram.storage_is_local && !diagram.storage.is_empty()
}

/// A dashed frame with its name at its top.
fn same_machine(svg: &mut Svg, corner: (f64, f64), size: (f64, f64)) {
    svg.rect(corner, size, "frame");
    svg.text((corner.0 + 4.0, corner.1 - 5.0), Anchor::Start, "tick", "the same machine");
}

fn arrow(svg: &mut Svg, from: (f64, f64), to: (f64, f64)) {
    svg.line(from, to, "wire");
    let length = (to.0 - from.0).hypot(to.1 - from.1).max(1.0);
    let (dx, dy) = ((to.0 - from.0) / length, (to.1 - from.1) / length);
    let back = (to.0 - 9.0 * dx, to.1 - 9.0 * dy);
    let wing = |side: f64| (back.0 - side * 4.0 * dy, back.1 + side * 4.0 * dx);
    svg.polygon(&[to, wing(1.0), wing(-1.0)], "head-of-arrow");
}
