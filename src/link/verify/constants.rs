//! The numbers of the object formats, named as their specifications name them.
//!
//! Sources: System V gABI (ELF), the registry of `e_machine` values, LLVM's `BinaryFormat/ELF.h` for what LLVM adds, and
//! Microsoft's PE/COFF specification.

pub(super) const ELFMAG: &[u8] = b"\x7fELF";
pub(super) const ELFCLASS32: u8 = 1;
pub(super) const ELFCLASS64: u8 = 2;
pub(super) const ELFDATA2LSB: u8 = 1;
pub(super) const ELFDATA2MSB: u8 = 2;
pub(super) const EV_CURRENT: u8 = 1;
pub(super) const ET_REL: u16 = 1;

pub(super) const ELFOSABI_NONE: u8 = 0;
pub(super) const ELFOSABI_GNU: u8 = 3;
pub(super) const ELFOSABI_SOLARIS: u8 = 6;
pub(super) const ELFOSABI_FREEBSD: u8 = 9;
pub(super) const ELFOSABI_OPENBSD: u8 = 12;
pub(super) const ELFOSABI_AMDGPU_HSA: u8 = 64;
pub(super) const ELFOSABI_AMDGPU_PAL: u8 = 65;
pub(super) const ELFOSABI_AMDGPU_MESA3D: u8 = 66;
pub(super) const ELFOSABI_STANDALONE: u8 = 255;
/// The newest `EI_ABIVERSION` of `ELFOSABI_AMDGPU_HSA` (code object version 6).
pub(super) const ELFABIVERSION_AMDGPU_HSA_V6: u8 = 4;

pub(super) const EM_SPARC: u16 = 2;
pub(super) const EM_386: u16 = 3;
pub(super) const EM_68K: u16 = 4;
pub(super) const EM_IAMCU: u16 = 6;
pub(super) const EM_MIPS: u16 = 8;
pub(super) const EM_SPARC32PLUS: u16 = 18;
pub(super) const EM_PPC: u16 = 20;
pub(super) const EM_PPC64: u16 = 21;
pub(super) const EM_S390: u16 = 22;
pub(super) const EM_ARM: u16 = 40;
pub(super) const EM_SPARCV9: u16 = 43;
pub(super) const EM_X86_64: u16 = 62;
pub(super) const EM_AVR: u16 = 83;
pub(super) const EM_XTENSA: u16 = 94;
pub(super) const EM_MSP430: u16 = 105;
pub(super) const EM_HEXAGON: u16 = 164;
pub(super) const EM_AARCH64: u16 = 183;
pub(super) const EM_AMDGPU: u16 = 224;
pub(super) const EM_RISCV: u16 = 243;
pub(super) const EM_LANAI: u16 = 244;
pub(super) const EM_BPF: u16 = 247;
pub(super) const EM_VE: u16 = 251;
pub(super) const EM_CSKY: u16 = 252;
pub(super) const EM_LOONGARCH: u16 = 258;

pub(super) const EF_ARM_EABI_VER5: u32 = 0x0500_0000;
/// Compressed instructions, float ABI (2 bits), RVE and TSO: all that RISC-V defines.
pub(super) const EF_RISCV_ALL: u32 = 0x1f;
pub(super) const EF_PPC64_ABI: u32 = 3;
/// Float ABI (3 bits) and object ABI version (2 bits): all that LoongArch defines.
pub(super) const EF_LOONGARCH_ALL: u32 = 0xc7;

pub(super) const SHN_UNDEF: u16 = 0;
pub(super) const SHN_LORESERVE: u16 = 0xff00;
pub(super) const SHN_HIOS: u16 = 0xff3f;
pub(super) const SHN_ABS: u16 = 0xfff1;
pub(super) const SHN_COMMON: u16 = 0xfff2;
pub(super) const SHN_XINDEX: u16 = 0xffff;

pub(super) const SHT_NULL: u32 = 0;
pub(super) const SHT_SYMTAB: u32 = 2;
pub(super) const SHT_STRTAB: u32 = 3;
pub(super) const SHT_RELA: u32 = 4;
pub(super) const SHT_NOBITS: u32 = 8;
pub(super) const SHT_REL: u32 = 9;
pub(super) const SHT_GROUP: u32 = 17;
pub(super) const SHT_SYMTAB_SHNDX: u32 = 18;
pub(super) const SHF_COMPRESSED: u64 = 0x800;

pub(super) const STB_LOCAL: u8 = 0;
pub(super) const STT_FILE: u8 = 4;

pub(super) const IMAGE_FILE_MACHINE_I386: u16 = 0x14c;
pub(super) const IMAGE_FILE_MACHINE_R4000: u16 = 0x166;
pub(super) const IMAGE_FILE_MACHINE_ARMNT: u16 = 0x1c4;
pub(super) const IMAGE_FILE_MACHINE_AMD64: u16 = 0x8664;
pub(super) const IMAGE_FILE_MACHINE_ARM64EC: u16 = 0xa641;
pub(super) const IMAGE_FILE_MACHINE_ARM64: u16 = 0xaa64;
pub(super) const IMAGE_SCN_CNT_UNINITIALIZED_DATA: u32 = 0x80;
pub(super) const IMAGE_SCN_LNK_NRELOC_OVFL: u32 = 0x0100_0000;
pub(super) const IMAGE_SYM_CLASS_EXTERNAL: u8 = 2;
pub(super) const IMAGE_SYM_CLASS_WEAK_EXTERNAL: u8 = 105;
/// The class id of a COFF file with 32-bit section numbers (`/bigobj`), written as it stands in the file.
pub(super) const BIGOBJ_CLASS_ID: [u8; 16] =
    [0xc7, 0xa1, 0xba, 0xd1, 0xee, 0xba, 0xa9, 0x4b, 0xaf, 0x20, 0xfa, 0xf6, 0x6a, 0xa4, 0xdc, 0xb8];
