//! What a target triple says about the object files of its compiler.

use std::fmt;

use super::constants::*;

/// The kind of object that a target triple stands for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Target {
    /// ELF.
    Elf(ElfTarget),
    /// COFF, of this `Machine`.
    Coff {
        /// One of `IMAGE_FILE_MACHINE_*`.
        machine: u16,
    },
    /// A triple that we do not know. An object is then checked for being whole and consistent, not for its machine.
    Unknown,
}

/// What the ELF header of an object must say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ElfTarget {
    /// 64-bit class.
    pub wide: bool,
    /// Big-endian.
    pub big: bool,
    /// `e_machine`.
    pub machine: u16,
    /// The `EI_OSABI` that LLVM writes for the triple's system.
    pub os_abi: u8,
}

impl Target {
    /// Reads the triple that a compiler's arguments end up with: the last `--target=` or `-target` counts.
    pub fn of_arguments<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        let mut arguments = arguments.into_iter();
        let mut triple = None;
        while let Some(argument) = arguments.next() {
            if argument == "-target" || argument == "--target" {
                triple = arguments.next().or(triple);
            } else if let Some(value) = argument.strip_prefix("--target=") {
                triple = Some(value);
            }
        }
        triple.map_or(Self::Unknown, Self::parse)
    }

    /// Reads a target triple as LLVM does: the architecture first, then vendor, system and environment in any order.
    pub fn parse(triple: &str) -> Self {
        let mut parts = triple.split('-');
        let arch = parts.next().unwrap_or_default();
        let rest: Vec<&str> = parts.collect();
        let starts = |names: &[&str]| rest.iter().any(|part| names.iter().any(|name| part.starts_with(name)));
        let ends = |name: &str| rest.iter().any(|part| part.ends_with(name));

        let foreign = starts(&["darwin", "macos", "ios", "tvos", "watchos", "xros", "driverkit", "aix", "zos", "wasi"])
            || ["macho", "xcoff", "goff", "wasm", "spirv"].iter().any(|format| ends(format));
        if foreign {
            return Self::Unknown;
        }
        if starts(&["windows", "win32", "uefi", "cygwin", "mingw"])
            && !ends("elf")
            && let Some(machine) = coff_machine(arch)
        {
            return Self::Coff { machine };
        }
        let Some((bits, order, mut machine)) = elf_arch(arch) else { return Self::Unknown };
        let narrow_abi = starts(&["gnux32", "muslx32", "gnuabin32", "muslabin32", "gnu_ilp32"]);
        if machine == EM_386 && starts(&["elfiamcu"]) {
            machine = EM_IAMCU;
        }
        Self::Elf(ElfTarget {
            wide: bits == 64 && !narrow_abi,
            big: order == Order::Big,
            machine,
            os_abi: os_abi(machine, starts),
        })
    }

    pub(super) fn elf(self) -> Option<ElfTarget> {
        match self {
            Self::Elf(target) => Some(target),
            _ => None,
        }
    }

    pub(super) fn coff_machine(self) -> Option<u16> {
        match self {
            Self::Coff { machine } => Some(machine),
            _ => None,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elf(target) => target.fmt(f),
            Self::Coff { machine } => write!(f, "COFF for machine {machine:#x}"),
            Self::Unknown => f.write_str("an object"),
        }
    }
}

impl ElfTarget {
    /// Whether an object of this target may bear this `e_machine`. SPARC compilers choose between two of them.
    pub(super) fn takes_machine(self, machine: u16) -> bool {
        machine == self.machine || (self.machine == EM_SPARC && machine == EM_SPARC32PLUS)
    }

    /// Whether an object of this target may bear this `EI_OSABI`. LLVM writes the system's, and GNU where an object
    /// without one uses an extension; the GNU assembler (`-fno-integrated-as`) writes none or GNU.
    pub(super) fn takes_os_abi(self, os_abi: u8) -> bool {
        let gnu_assembler = self.machine != EM_AMDGPU && matches!(os_abi, ELFOSABI_NONE | ELFOSABI_GNU);
        os_abi == self.os_abi || gnu_assembler
    }

    /// Whether an object of this target may bear these `e_flags`, as far as the machine alone says.
    pub(super) fn takes_flags(self, flags: u32) -> bool {
        match self.machine {
            EM_X86_64 | EM_386 | EM_IAMCU | EM_AARCH64 => flags == 0,
            // Hard float is recorded here in linked files only.
            EM_ARM => flags == EF_ARM_EABI_VER5,
            EM_RISCV => flags & !EF_RISCV_ALL == 0,
            EM_PPC64 => flags & !EF_PPC64_ABI == 0 && flags != EF_PPC64_ABI,
            EM_LOONGARCH => flags & !EF_LOONGARCH_ALL == 0,
            _ => true,
        }
    }
}

impl fmt::Display for ElfTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = if self.wide { 64 } else { 32 };
        let order = if self.big { "big" } else { "little" };
        write!(f, "{bits}-bit {order}-endian ELF for {}", Machine(self.machine))
    }
}

/// An `e_machine` as people call it.
struct Machine(u16);

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            EM_386 => "x86",
            EM_X86_64 => "x86-64",
            EM_ARM => "Arm",
            EM_AARCH64 => "AArch64",
            EM_RISCV => "RISC-V",
            EM_MIPS => "MIPS",
            EM_PPC => "PowerPC",
            EM_PPC64 => "PowerPC64",
            EM_S390 => "s390x",
            EM_LOONGARCH => "LoongArch",
            EM_SPARC | EM_SPARC32PLUS | EM_SPARCV9 => "SPARC",
            number => return write!(f, "machine {number}"),
        };
        f.write_str(name)
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Order {
    Little,
    Big,
}

/// Word size, byte order and `e_machine` of an architecture, by the names that LLVM's triple parser takes.
fn elf_arch(arch: &str) -> Option<(u8, Order, u16)> {
    use Order::{Big, Little};
    Some(match arch {
        "x86_64" | "amd64" | "x86_64h" => (64, Little, EM_X86_64),
        _ if is_x86(arch) => (32, Little, EM_386),
        "aarch64" | "arm64" | "arm64e" | "arm64ec" => (64, Little, EM_AARCH64),
        "aarch64_be" => (64, Big, EM_AARCH64),
        "aarch64_32" | "arm64_32" => (32, Little, EM_AARCH64),
        "xscale" => (32, Little, EM_ARM),
        "xscaleeb" => (32, Big, EM_ARM),
        _ if arch.starts_with("arm") || arch.starts_with("thumb") => (32, arm_order(arch), EM_ARM),
        "riscv32" => (32, Little, EM_RISCV),
        "riscv64" => (64, Little, EM_RISCV),
        "riscv32be" => (32, Big, EM_RISCV),
        "riscv64be" => (64, Big, EM_RISCV),
        _ if arch.starts_with("mips") => mips(arch),
        "powerpc" | "powerpcspe" | "ppc" | "ppc32" => (32, Big, EM_PPC),
        "powerpcle" | "ppcle" | "ppc32le" => (32, Little, EM_PPC),
        "powerpc64" | "ppu" | "ppc64" => (64, Big, EM_PPC64),
        "powerpc64le" | "ppc64le" => (64, Little, EM_PPC64),
        "s390x" | "systemz" => (64, Big, EM_S390),
        "sparc" => (32, Big, EM_SPARC),
        "sparcel" => (32, Little, EM_SPARC),
        "sparcv9" | "sparc64" => (64, Big, EM_SPARCV9),
        "loongarch32" => (32, Little, EM_LOONGARCH),
        "loongarch64" => (64, Little, EM_LOONGARCH),
        "hexagon" => (32, Little, EM_HEXAGON),
        "m68k" => (32, Big, EM_68K),
        "avr" => (32, Little, EM_AVR),
        "msp430" => (32, Little, EM_MSP430),
        // Plain `bpf` is of the byte order of the compiler's machine, and we run beside the compiler.
        "bpf" if cfg!(target_endian = "big") => (64, Big, EM_BPF),
        "bpf" | "bpfel" | "bpf_le" => (64, Little, EM_BPF),
        "bpfeb" | "bpf_be" => (64, Big, EM_BPF),
        "csky" => (32, Little, EM_CSKY),
        "ve" => (64, Little, EM_VE),
        "lanai" => (32, Big, EM_LANAI),
        "amdgcn" => (64, Little, EM_AMDGPU),
        "r600" => (32, Little, EM_AMDGPU),
        "xtensa" => (32, Little, EM_XTENSA),
        _ => return None,
    })
}

/// `i386` to `i986`.
fn is_x86(arch: &str) -> bool {
    matches!(arch.as_bytes(), [b'i', b'3'..=b'9', b'8', b'6'])
}

/// Arm is big-endian when `eb` follows the family's name or ends it all: `armeb`, `armebv7a`, `thumbv7eb`.
fn arm_order(arch: &str) -> Order {
    let family = arch.strip_prefix("arm").or_else(|| arch.strip_prefix("thumb")).unwrap_or_default();
    if family.starts_with("eb") || family.ends_with("eb") { Order::Big } else { Order::Little }
}

/// `mips`, `mipsel`, `mips64el`, `mipsisa64r6`, `mipsn32r6el` and so on.
fn mips(arch: &str) -> (u8, Order, u16) {
    let bits = if arch.contains("64") { 64 } else { 32 };
    let order = if arch.ends_with("el") { Order::Little } else { Order::Big };
    (bits, order, EM_MIPS)
}

/// The COFF machine of an architecture that has one.
fn coff_machine(arch: &str) -> Option<u16> {
    Some(match arch {
        "x86_64" | "amd64" | "x86_64h" => IMAGE_FILE_MACHINE_AMD64,
        _ if is_x86(arch) => IMAGE_FILE_MACHINE_I386,
        "arm64ec" => IMAGE_FILE_MACHINE_ARM64EC,
        "aarch64" | "arm64" | "arm64e" => IMAGE_FILE_MACHINE_ARM64,
        _ if (arch.starts_with("arm") || arch.starts_with("thumb")) && arm_order(arch) == Order::Little => {
            IMAGE_FILE_MACHINE_ARMNT
        }
        "mipsel" => IMAGE_FILE_MACHINE_R4000,
        _ => return None,
    })
}

/// `EI_OSABI` as LLVM writes it for the systems that have one.
fn os_abi(machine: u16, starts: impl Fn(&[&str]) -> bool) -> u8 {
    match machine {
        EM_AMDGPU if starts(&["amdhsa"]) => ELFOSABI_AMDGPU_HSA,
        EM_AMDGPU if starts(&["amdpal"]) => ELFOSABI_AMDGPU_PAL,
        EM_AMDGPU if starts(&["mesa3d"]) => ELFOSABI_AMDGPU_MESA3D,
        EM_AMDGPU => ELFOSABI_NONE,
        EM_MSP430 => ELFOSABI_STANDALONE,
        _ if starts(&["freebsd", "ps4"]) => ELFOSABI_FREEBSD,
        _ if starts(&["openbsd"]) => ELFOSABI_OPENBSD,
        _ if starts(&["solaris"]) => ELFOSABI_SOLARIS,
        _ if starts(&["hermit"]) => ELFOSABI_STANDALONE,
        _ => ELFOSABI_NONE,
    }
}
