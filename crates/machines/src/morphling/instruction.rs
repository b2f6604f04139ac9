//! The instructions of the DMA, XPU and VPU streams.

/// Bytes of an instruction word.
pub const WORD_BYTES: usize = 32;

macro_rules! opcodes {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Opcode { $($(#[$doc])* $name,)* }

        impl Opcode {
            /// Name in reports.
            pub fn name(self) -> &'static str {
                match self { $(Opcode::$name => $text,)* }
            }
        }
    };
}

opcodes! {
    /// Instruction words of one group, from HBM.
    Fetch = "dma.fetch";
    /// LWE ciphertexts under the small key, HBM to Private-B.
    LoadSmall = "dma.load.small";
    /// LWE ciphertexts under the large key, HBM to Private-B.
    LoadLarge = "dma.load.large";
    /// Test polynomials, HBM to the Shared buffer.
    LoadTables = "dma.load.tables";
    /// The bootstrapping key, iteration by iteration, HBM to Private-A2.
    StreamKey = "dma.stream.bsk";
    /// A tile of the key-switch key, HBM to Private-B.
    LoadTile = "dma.load.ksk";
    /// Operands of a linear layer, HBM to Private-B.
    LoadOperands = "dma.load.operands";
    /// Extracted ciphertexts, Private-B to HBM.
    StoreLarge = "dma.store.large";
    /// Key-switched ciphertexts, Private-B to HBM.
    StoreSmall = "dma.store.small";
    /// Results of a linear layer, Private-B to HBM.
    StoreSums = "dma.store.sums";
    /// Twiddle factors of the ring, HBM to Private-A2, on the channels of the bootstrapping key.
    LoadTwiddles = "dma.load.twiddles";
    /// Rotation amounts and rotated test polynomials, Shared buffer to Private-A1.
    LoadAccumulators = "xpu.load";
    /// Blind rotation of a group's resident ciphertexts.
    BlindRotate = "xpu.rotate";
    /// Accumulators, Private-A1 to the Shared buffer.
    StoreAccumulators = "xpu.store";
    /// Twiddle factors, Private-A2 to the twiddle buffers of the XPUs.
    FillTwiddles = "xpu.twiddles";
    /// Modulus switch.
    ModulusSwitch = "vpu.ms";
    /// Sample extraction.
    SampleExtract = "vpu.se";
    /// Key switch by one tile of the key.
    KeySwitch = "vpu.ks";
    /// Linear combinations of one block of operands.
    Linear = "vpu.linear";
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

const _: () = assert!(size_of::<Instruction>() <= WORD_BYTES, "a word has room for all fields");
