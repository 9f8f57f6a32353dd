//! Puts LZO1X streams together one instruction at a time, and knows what each of them stands for.

/// A stream without its end marker, and its output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stream {
    pub(crate) bytes: Vec<u8>,
    pub(crate) output: Vec<u8>,
}

impl Stream {
    /// The literals that only the start of a stream can have: 1 to 238.
    pub(crate) fn first(literals: &[u8]) -> Self {
        let first = 17 + u8::try_from(literals.len()).expect("at most 238 literals");
        Self { bytes: [&[first], literals].concat(), output: literals.to_vec() }
    }

    /// Four literals or more.
    pub(crate) fn run(mut self, literals: &[u8]) -> Self {
        self.length(0, literals.len() - 3, 15);
        self.literals(literals)
    }

    /// Two bytes after one to three literals, three after a run.
    pub(crate) fn tiny(self, distance: usize, after_run: bool, literals: &[u8]) -> Self {
        let (least, length) = if after_run { (2049, 3) } else { (1, 2) };
        let bits = distance - least;
        self.matched([(bits & 3) << 2 | literals.len(), bits >> 2], distance, length, literals)
    }

    /// 3 to 8 bytes, from 1 to 2048 back.
    pub(crate) fn near(self, distance: usize, length: usize, literals: &[u8]) -> Self {
        let bits = distance - 1;
        self.matched([(length - 1) << 5 | (bits & 7) << 2 | literals.len(), bits >> 3], distance, length, literals)
    }

    /// Three bytes or more, from 1 to 16384 back.
    pub(crate) fn middle(mut self, distance: usize, length: usize, literals: &[u8]) -> Self {
        self.length(32, length - 2, 31);
        let bits = (distance - 1) << 2 | literals.len();
        self.matched([bits & 255, bits >> 8], distance, length, literals)
    }

    /// Three bytes or more, from 16385 to 49151 back.
    pub(crate) fn far(mut self, distance: usize, length: usize, literals: &[u8]) -> Self {
        let bits = distance - 16384;
        self.length(16 | (bits >> 14) << 3, length - 2, 7);
        let bits = (bits & 0x3fff) << 2 | literals.len();
        self.matched([bits & 255, bits >> 8], distance, length, literals)
    }

    /// The bytes with the end marker.
    pub(crate) fn end(&self) -> Vec<u8> {
        [self.bytes.as_slice(), &[0x11, 0, 0]].concat()
    }

    fn length(&mut self, first: usize, length: usize, room: usize) {
        if length <= room {
            return self.bytes.push((first | length) as u8);
        }
        self.bytes.push(first as u8);
        let mut rest = length - room;
        while rest > 255 {
            self.bytes.push(0);
            rest -= 255;
        }
        self.bytes.push(rest as u8);
    }

    fn matched(mut self, bytes: [usize; 2], distance: usize, length: usize, literals: &[u8]) -> Self {
        self.bytes.extend(bytes.map(|byte| u8::try_from(byte).expect("the match can be written")));
        for _ in 0..length {
            // A distance that reaches too far back stands for nothing: such a stream is to be refused.
            let byte = self.output.len().checked_sub(distance).map_or(0, |at| self.output[at]);
            self.output.push(byte);
        }
        self.literals(literals)
    }

    fn literals(mut self, literals: &[u8]) -> Self {
        self.bytes.extend(literals);
        self.output.extend(literals);
        self
    }
}

/// Bytes of which no four follow each other twice: nothing in them can be mistaken for a match.
pub(crate) fn distinct(length: usize) -> Vec<u8> {
    (0..).flat_map(|number: u16| number.to_be_bytes().map(|byte| byte ^ 0xa5)).take(length).collect()
}
