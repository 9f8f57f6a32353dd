#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| thinbridge::bitcode::fuzz::fuzz_shard(data));
