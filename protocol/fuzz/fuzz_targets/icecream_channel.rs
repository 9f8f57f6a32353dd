#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| thinbridge_protocol::fuzz::fuzz_icecream_channel(data));
