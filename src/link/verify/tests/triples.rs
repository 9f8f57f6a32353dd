//! Target triples.

use super::super::constants::*;
use super::*;

fn elf(wide: bool, big: bool, machine: u16, os_abi: u8) -> Target {
    Target::Elf(ElfTarget { wide, big, machine, os_abi })
}

#[test]
fn triples_are_read_as_llvm_does() {
    let little = |machine, wide| elf(wide, false, machine, 0);
    let big = |machine, wide| elf(wide, true, machine, 0);
    // Class, byte order, machine and OSABI of all but a few were seen in objects of clang 22.
    for (triple, target) in [
        ("x86_64-unknown-linux-gnu", little(EM_X86_64, true)),
        ("amd64-linux-gnu", little(EM_X86_64, true)),
        ("x86_64-linux-gnux32", little(EM_X86_64, false)),
        ("x86_64-unknown-linux-muslx32", little(EM_X86_64, false)),
        ("x86_64-unknown-freebsd14.1", elf(true, false, EM_X86_64, 9)),
        ("x86_64-unknown-openbsd7", elf(true, false, EM_X86_64, 12)),
        ("x86_64-pc-solaris2.11", elf(true, false, EM_X86_64, 6)),
        ("x86_64-scei-ps4", elf(true, false, EM_X86_64, 9)),
        ("x86_64-sie-ps5", little(EM_X86_64, true)),
        ("x86_64-unknown-hermit", elf(true, false, EM_X86_64, 255)),
        ("x86_64-pc-windows-msvc-elf", little(EM_X86_64, true)),
        ("x86_64-elf", little(EM_X86_64, true)),
        ("i386-pc-linux-gnu", little(EM_386, false)),
        ("i686-linux-android19", little(EM_386, false)),
        ("i586-intel-elfiamcu", little(EM_IAMCU, false)),
        ("aarch64-unknown-linux-gnu", little(EM_AARCH64, true)),
        ("arm64-linux-android35", little(EM_AARCH64, true)),
        ("aarch64_be-linux-gnu", big(EM_AARCH64, true)),
        ("aarch64-linux-gnu_ilp32", little(EM_AARCH64, false)),
        ("armv7-unknown-linux-gnueabihf", little(EM_ARM, false)),
        ("thumbv6m-none-eabi", little(EM_ARM, false)),
        ("armeb-linux-gnueabi", big(EM_ARM, false)),
        ("armebv7r-none-eabi", big(EM_ARM, false)),
        ("thumbv7eb-none-eabi", big(EM_ARM, false)),
        ("riscv32-unknown-elf", little(EM_RISCV, false)),
        ("riscv64-unknown-linux-musl", little(EM_RISCV, true)),
        ("riscv64be-unknown-elf", big(EM_RISCV, true)),
        ("mips-linux-gnu", big(EM_MIPS, false)),
        ("mipsel-linux-gnu", little(EM_MIPS, false)),
        ("mips64-linux-gnuabi64", big(EM_MIPS, true)),
        ("mips64el-linux-gnuabin32", little(EM_MIPS, false)),
        ("mipsisa64r6el-linux-gnuabi64", little(EM_MIPS, true)),
        ("mipsisa32r6-linux-gnu", big(EM_MIPS, false)),
        ("mips-pc-windows", big(EM_MIPS, false)),
        ("powerpc-linux-gnu", big(EM_PPC, false)),
        ("powerpcle-linux-gnu", little(EM_PPC, false)),
        ("powerpc64-linux-musl", big(EM_PPC64, true)),
        ("ppc64le-linux-gnu", little(EM_PPC64, true)),
        ("s390x-linux-gnu", big(EM_S390, true)),
        ("sparc-linux-gnu", big(EM_SPARC, false)),
        ("sparcv9-sun-solaris", elf(true, true, EM_SPARCV9, 6)),
        ("loongarch32-linux-gnu", little(EM_LOONGARCH, false)),
        ("loongarch64-linux-gnusf", little(EM_LOONGARCH, true)),
        ("hexagon-unknown-linux-musl", little(EM_HEXAGON, false)),
        ("m68k-unknown-netbsd", big(EM_68K, false)),
        ("avr", little(EM_AVR, false)),
        ("msp430-elf", elf(false, false, EM_MSP430, 255)),
        ("bpfel", little(EM_BPF, true)),
        ("bpfeb", big(EM_BPF, true)),
        ("csky-unknown-linux", little(EM_CSKY, false)),
        ("ve-linux-gnu", little(EM_VE, true)),
        ("lanai", big(EM_LANAI, false)),
        ("xtensa-unknown-elf", little(EM_XTENSA, false)),
        ("amdgcn-amd-amdhsa", elf(true, false, EM_AMDGPU, 64)),
        ("amdgcn-mesa-mesa3d", elf(true, false, EM_AMDGPU, 66)),
        ("x86_64-pc-windows-msvc19.33.0", Target::Coff { machine: 0x8664 }),
        ("x86_64-w64-windows-gnu", Target::Coff { machine: 0x8664 }),
        ("x86_64-w64-mingw32", Target::Coff { machine: 0x8664 }),
        ("x86_64-unknown-uefi", Target::Coff { machine: 0x8664 }),
        ("x86_64-pc-windows-cygnus", Target::Coff { machine: 0x8664 }),
        ("i386-pc-win32", Target::Coff { machine: 0x14c }),
        ("aarch64-pc-windows-msvc", Target::Coff { machine: 0xaa64 }),
        ("arm64ec-pc-windows-msvc", Target::Coff { machine: 0xa641 }),
        ("thumbv7-pc-windows-msvc", Target::Coff { machine: 0x1c4 }),
    ] {
        assert_eq!(Target::parse(triple), target, "{triple}");
    }
    for triple in [
        "",
        "-",
        "pdp11-unix",
        "x86_64-apple-darwin",
        "arm64-apple-ios17",
        "wasm32-wasi",
        "powerpc-ibm-aix",
        "\u{fc}-linux",
    ] {
        assert_eq!(Target::parse(triple), Target::Unknown, "{triple}");
    }
}

#[test]
fn the_last_target_argument_counts() {
    let x86 = Target::parse("x86_64-linux-gnu");
    assert_eq!(Target::of_arguments(["-c", "--target=aarch64-linux-gnu", "-O2", "--target=x86_64-linux-gnu"]), x86);
    assert_eq!(Target::of_arguments(["-target", "x86_64-linux-gnu", "-O2"]), x86);
    assert_eq!(Target::of_arguments(["-O2"]), Target::Unknown);
    assert_eq!(Target::of_arguments(["--target=x86_64-linux-gnu", "-target"]), x86);
}

#[test]
fn targets_are_named_for_people() {
    assert_eq!(Target::parse("aarch64_be-linux-gnu").to_string(), "64-bit big-endian ELF for AArch64");
    assert_eq!(Target::parse("avr").to_string(), "32-bit little-endian ELF for machine 83");
}
