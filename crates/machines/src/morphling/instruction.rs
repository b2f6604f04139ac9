//! The instructions of the DMA, XPU and VPU streams, with a binary form of 32-byte words and a text form.

use std::fmt;
use std::str::FromStr;

/// Bytes of an instruction word.
pub const WORD_BYTES: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Transfers between HBM and the buffers.
    Dma,
    /// Blind rotation, and transfers between Private-A1 and the Shared buffer.
    Xpu,
    /// Instructions of the lane groups.
    Vpu,
}

macro_rules! opcodes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $stream:ident, $text:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Opcode { $($(#[$doc])* $name = $code,)* }

        impl Opcode {
            /// Every opcode.
            pub const ALL: &'static [Opcode] = &[$(Opcode::$name,)*];

            /// Name in the text form.
            pub fn name(self) -> &'static str {
                match self { $(Opcode::$name => $text,)* }
            }

            pub fn stream(self) -> Stream {
                match self { $(Opcode::$name => Stream::$stream,)* }
            }
        }
    };
}

opcodes! {
    /// Instruction words of one group, from HBM.
    Fetch = 0x01, Dma, "dma.fetch";
    /// LWE ciphertexts under the small key, HBM to Private-B.
    LoadSmall = 0x02, Dma, "dma.load.small";
    /// LWE ciphertexts under the large key, HBM to Private-B.
    LoadLarge = 0x03, Dma, "dma.load.large";
    /// Test polynomials, HBM to the Shared buffer.
    LoadTables = 0x04, Dma, "dma.load.tables";
    /// The bootstrapping key, iteration by iteration, HBM to Private-A2.
    StreamKey = 0x05, Dma, "dma.stream.bsk";
    /// A tile of the key-switch key, HBM to Private-B.
    LoadTile = 0x06, Dma, "dma.load.ksk";
    /// Operands of a linear layer, HBM to Private-B.
    LoadOperands = 0x07, Dma, "dma.load.operands";
    /// Extracted ciphertexts, Private-B to HBM.
    StoreLarge = 0x08, Dma, "dma.store.large";
    /// Key-switched ciphertexts, Private-B to HBM.
    StoreSmall = 0x09, Dma, "dma.store.small";
    /// Results of a linear layer, Private-B to HBM.
    StoreSums = 0x0a, Dma, "dma.store.sums";
    /// Twiddle factors of the ring, HBM to Private-A2, on the channels of the bootstrapping key.
    LoadTwiddles = 0x0b, Dma, "dma.load.twiddles";
    /// Rotation amounts and rotated test polynomials, Shared buffer to Private-A1.
    LoadAccumulators = 0x20, Xpu, "xpu.load";
    /// Blind rotation of a group's resident ciphertexts.
    BlindRotate = 0x21, Xpu, "xpu.rotate";
    /// Accumulators, Private-A1 to the Shared buffer.
    StoreAccumulators = 0x22, Xpu, "xpu.store";
    /// Twiddle factors, Private-A2 to the twiddle buffers of the XPUs.
    FillTwiddles = 0x23, Xpu, "xpu.twiddles";
    /// Modulus switch.
    ModulusSwitch = 0x40, Vpu, "vpu.ms";
    /// Sample extraction.
    SampleExtract = 0x41, Vpu, "vpu.se";
    /// Key switch by one tile of the key.
    KeySwitch = 0x42, Vpu, "vpu.ks";
    /// Linear combinations of one block of operands.
    Linear = 0x43, Vpu, "vpu.linear";
}

/// The buffer entries that an instruction names determine its dependences: the hardware scheduler has one full/empty
/// mark per entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    pub opcode: Opcode,
    /// Lane group, or the number of active XPUs.
    pub unit: u8,
    /// Wave of the group.
    pub wave: u8,
    /// Entry of the ring buffer that it fills or drains.
    pub entry: u8,
    /// Number of ciphertexts.
    pub count: u16,
    /// Part of a wave, or tile of a key.
    pub part: u16,
    /// Operation of the kernel program.
    pub operation: u32,
    /// Group of that operation.
    pub group: u32,
    /// First ciphertext.
    pub first: u32,
    /// Elements of one ciphertext or polynomial.
    pub length: u32,
    /// Bytes of a transfer, or iterations.
    pub amount: u32,
}

/// Why a word or a line is not an instruction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstructionError {
    #[error("instruction {position}: opcode {found} is not defined")]
    Opcode { position: usize, found: String },
    #[error("the instruction stream of {bytes} bytes is not a whole number of {WORD_BYTES}-byte words")]
    Length { bytes: usize },
    #[error("instruction {position}: reserved bytes are not zero")]
    Reserved { position: usize },
    #[error("instruction {position}: field `{field}` is {found}")]
    Field { position: usize, field: String, found: String },
}

impl Instruction {
    /// The word: little-endian fields in the order of the structure, then four reserved bytes.
    pub fn encode(&self) -> [u8; WORD_BYTES] {
        let mut word = [0; WORD_BYTES];
        word[..4].copy_from_slice(&[self.opcode as u8, self.unit, self.wave, self.entry]);
        word[4..6].copy_from_slice(&self.count.to_le_bytes());
        word[6..8].copy_from_slice(&self.part.to_le_bytes());
        let fields = [self.operation, self.group, self.first, self.length, self.amount];
        for (bytes, field) in word[8..28].chunks_exact_mut(4).zip(fields) {
            bytes.copy_from_slice(&field.to_le_bytes());
        }
        word
    }

    fn decode(position: usize, word: &[u8]) -> Result<Self, InstructionError> {
        let short = |at: usize| u16::from_le_bytes([word[at], word[at + 1]]);
        let long = |at: usize| u32::from_le_bytes([word[at], word[at + 1], word[at + 2], word[at + 3]]);
        let opcode = Opcode::ALL.iter().copied().find(|&opcode| opcode as u8 == word[0]);
        let opcode = opcode.ok_or_else(|| InstructionError::Opcode { position, found: format!("{:#04x}", word[0]) })?;
        if long(28) != 0 {
            return Err(InstructionError::Reserved { position });
        }
        Ok(Self {
            opcode,
            unit: word[1],
            wave: word[2],
            entry: word[3],
            count: short(4),
            part: short(6),
            operation: long(8),
            group: long(12),
            first: long(16),
            length: long(20),
            amount: long(24),
        })
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} op={} group={} wave={} part={} unit={} entry={} first={} count={} length={} amount={}",
            self.opcode.name(),
            self.operation,
            self.group,
            self.wave,
            self.part,
            self.unit,
            self.entry,
            self.first,
            self.count,
            self.length,
            self.amount
        )
    }
}

impl FromStr for Instruction {
    type Err = InstructionError;

    fn from_str(line: &str) -> Result<Self, InstructionError> {
        parse_line(0, line)
    }
}

fn parse_line(position: usize, line: &str) -> Result<Instruction, InstructionError> {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or("");
    let opcode = Opcode::ALL.iter().copied().find(|opcode| opcode.name() == name);
    let opcode = opcode.ok_or_else(|| InstructionError::Opcode { position, found: format!("`{name}`") })?;
    const NAMES: [&str; 10] = ["op", "group", "wave", "part", "unit", "entry", "first", "count", "length", "amount"];
    const LIMITS: [u32; 10] = [
        u32::MAX,
        u32::MAX,
        u8::MAX as u32,
        u16::MAX as u32,
        u8::MAX as u32,
        u8::MAX as u32,
        u32::MAX,
        u16::MAX as u32,
        u32::MAX,
        u32::MAX,
    ];
    let field = |field: &str, found: String| InstructionError::Field { position, field: field.to_owned(), found };
    let mut values = [None; 10];
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let Some(index) = NAMES.iter().position(|&known| known == name) else {
            return Err(field(name, "unknown".to_owned()));
        };
        let parsed = value.parse::<u32>().ok().filter(|&value| value <= LIMITS[index]);
        values[index] =
            Some(parsed.ok_or_else(|| field(name, format!("`{value}`, not a number from 0 to {}", LIMITS[index])))?);
    }
    let get = |index: usize| values[index].ok_or_else(|| field(NAMES[index], "missing".to_owned()));
    Ok(Instruction {
        opcode,
        operation: get(0)?,
        group: get(1)?,
        wave: get(2)? as u8,
        part: get(3)? as u16,
        unit: get(4)? as u8,
        entry: get(5)? as u8,
        first: get(6)?,
        count: get(7)? as u16,
        length: get(8)?,
        amount: get(9)?,
    })
}

/// Concatenates the words of `instructions`.
pub fn encode(instructions: &[Instruction]) -> Vec<u8> {
    instructions.iter().flat_map(Instruction::encode).collect()
}

/// Parses the output of [`encode`].
pub fn decode(bytes: &[u8]) -> Result<Vec<Instruction>, InstructionError> {
    if !bytes.len().is_multiple_of(WORD_BYTES) {
        return Err(InstructionError::Length { bytes: bytes.len() });
    }
    bytes.chunks_exact(WORD_BYTES).enumerate().map(|(position, word)| Instruction::decode(position, word)).collect()
}

/// The text form, one instruction per line.
pub fn print(instructions: &[Instruction]) -> String {
    instructions.iter().map(|instruction| format!("{instruction}\n")).collect()
}

/// Parses the output of [`print()`]; ignores empty lines.
pub fn parse(text: &str) -> Result<Vec<Instruction>, InstructionError> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(position, line)| parse_line(position, line)).collect()
}

#[cfg(test)]
mod tests {
    //! Do instructions survive both forms, and is invalid input rejected?

    use super::*;
    use proptest::prelude::*;

    fn any_instruction() -> impl Strategy<Value = Instruction> {
        let small = (0..Opcode::ALL.len(), any::<(u8, u8, u8)>(), any::<(u16, u16)>());
        (small, any::<(u32, u32, u32, u32, u32)>()).prop_map(|((opcode, bytes, shorts), longs)| Instruction {
            opcode: Opcode::ALL[opcode],
            unit: bytes.0,
            wave: bytes.1,
            entry: bytes.2,
            count: shorts.0,
            part: shorts.1,
            operation: longs.0,
            group: longs.1,
            first: longs.2,
            length: longs.3,
            amount: longs.4,
        })
    }

    proptest! {
        #[test]
        fn round_trips(stream in proptest::collection::vec(any_instruction(), 0..20)) {
            prop_assert_eq!(decode(&encode(&stream)).expect("own words"), stream.clone());
            prop_assert_eq!(parse(&print(&stream)).expect("own text"), stream);
        }
    }

    #[test]
    fn rejects() {
        assert_eq!(decode(&[0; 31]), Err(InstructionError::Length { bytes: 31 }));
        assert!(matches!(decode(&[0; 32]), Err(InstructionError::Opcode { position: 0, .. })));
        let mut word =
            encode(&[parse("vpu.ms op=1 group=0 wave=0 part=0 unit=0 entry=0 first=0 count=1 length=2 amount=3")
                .expect("a line")[0]]);
        word[31] = 1;
        assert_eq!(decode(&word), Err(InstructionError::Reserved { position: 0 }));
        let error = parse("vpu.ms op=1 wave=300").expect_err("wave is a byte");
        assert!(error.to_string().contains("`wave`"), "{error}");
        let error = parse("vpu.ms op=1").expect_err("fields are missing");
        assert!(error.to_string().contains("missing"), "{error}");
    }
}
