/* Random reads of 400 KB and changes of 128 KB in order, in arrays whose addresses are the same in
   every run. */
static volatile unsigned table[100 * 1024];
static volatile unsigned long swept[16 * 1024];

int main(void)
{
    unsigned random = 1, sum = 0;
    for (int round = 0; round < 3; round++) {
        for (int word = 0; word < 16 * 1024; word += 8)
            swept[word] += round;
        for (int read = 0; read < 20000; read++) {
            random = random * 1664525 + 1013904223;
            sum += table[(random >> 8) % (100 * 1024)];
        }
    }
    return sum != 0;
}
