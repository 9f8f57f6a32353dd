int elsewhere(int a) { return a + 1; }
