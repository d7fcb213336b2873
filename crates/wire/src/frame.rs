//! How a stream is cut into packets: three bytes of length, one of sequence, then the payload.
//! A payload of 16 MiB - 1 bytes goes on in the next packet.

pub const HEADER: usize = 4;
pub const MAX_PAYLOAD: usize = 0xff_ffff;

/// One complete packet at the start of `input`: its sequence number and its payload.
#[inline]
pub fn split(input: &[u8]) -> Option<(u8, &[u8])> {
    let header = input.first_chunk::<HEADER>()?;
    let length = header_length(header);
    let payload = input.get(HEADER..HEADER + length)?;
    Some((header[3], payload))
}

/// Sequence number and payload length from the header of the packet at the start of `input`.
pub fn announced(input: &[u8]) -> Option<(u8, usize)> {
    input.first_chunk::<HEADER>().map(|header| (header[3], header_length(header)))
}

/// The total size of the packet at the start of `input`, once its header is complete.
pub fn size(input: &[u8]) -> Option<usize> {
    input.first_chunk::<HEADER>().map(|header| HEADER + header_length(header))
}

/// The sequence number after those of the whole packets that `output` holds, counted from 0.
#[inline]
pub fn next_sequence(output: &[u8]) -> u8 {
    if output.len() < HEADER + MAX_PAYLOAD {
        return 1;
    }
    let mut rest = output;
    let mut sequence = 0u8;
    while let Some(size) = size(rest) {
        sequence = sequence.wrapping_add(1);
        rest = rest.get(size..).unwrap_or_default();
    }
    sequence
}

#[inline]
fn header_length(header: &[u8; HEADER]) -> usize {
    usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16
}

/// Reserves a header; returns where the packet starts, for [`finish`].
#[inline]
pub fn begin(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER]);
    start
}

/// Fills in the header of the packet that begins at `start`, splitting it if it is too long. Returns the next sequence
/// number.
#[inline]
pub fn finish(out: &mut Vec<u8>, start: usize, sequence: u8) -> u8 {
    let length = out.len() - start - HEADER;
    if length < MAX_PAYLOAD {
        put_header(out, start, length, sequence);
        return sequence.wrapping_add(1);
    }
    cut(out, start, sequence)
}

#[cold]
fn cut(out: &mut Vec<u8>, start: usize, mut sequence: u8) -> u8 {
    let payload = out.split_off(start + HEADER);
    out.truncate(start);
    let mut rest = payload.as_slice();
    loop {
        let piece = rest.len().min(MAX_PAYLOAD);
        let at = begin(out);
        out.extend_from_slice(&rest[..piece]);
        put_header(out, at, piece, sequence);
        sequence = sequence.wrapping_add(1);
        rest = &rest[piece..];
        if piece < MAX_PAYLOAD {
            return sequence;
        }
    }
}

#[inline]
fn put_header(out: &mut [u8], start: usize, length: usize, sequence: u8) {
    out[start..start + 3].copy_from_slice(&(length as u32).to_le_bytes()[..3]);
    out[start + 3] = sequence;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(length: usize) -> Vec<(u8, usize)> {
        let mut out = vec![7; 3];
        let start = begin(&mut out);
        out.resize(start + HEADER + length, 1);
        finish(&mut out, start, 5);
        let mut rest = &out[3..];
        let mut seen = Vec::new();
        while let Some((sequence, payload)) = split(rest) {
            seen.push((sequence, payload.len()));
            rest = &rest[HEADER + payload.len()..];
        }
        assert!(rest.is_empty());
        assert_eq!(next_sequence(&out[3..]), seen.len() as u8);
        seen
    }

    #[test]
    fn payloads_are_cut_at_sixteen_mebibytes() {
        assert_eq!(round_trip(0), [(5, 0)]);
        assert_eq!(round_trip(MAX_PAYLOAD - 1), [(5, MAX_PAYLOAD - 1)]);
        assert_eq!(round_trip(MAX_PAYLOAD), [(5, MAX_PAYLOAD), (6, 0)]);
        assert_eq!(round_trip(MAX_PAYLOAD + 9), [(5, MAX_PAYLOAD), (6, 9)]);
    }

    #[test]
    fn an_incomplete_packet_is_not_split() {
        assert_eq!(split(&[2, 0, 0, 1, 9]), None);
        assert_eq!(size(&[2, 0, 0, 1]), Some(6));
        assert_eq!(size(&[2, 0]), None);
    }
}
