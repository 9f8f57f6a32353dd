extern int imported(int);
int counter = 1;
static int hidden;
__attribute__((weak)) int weakly(int a) { return imported(a) + counter; }
int work(int a) { return weakly(a) * hidden++; }
