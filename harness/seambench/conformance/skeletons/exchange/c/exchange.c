/* An exchange to begin with: it reads the request and refuses. See docs/doors.md of Seambench. */
#include <stdio.h>

int main(void)
{
  static char request[1 << 16];
  /* One line of JSON: `role` is `sender` or `receiver`; frames follow on the same input. */
  if (!fgets(request, sizeof request, stdin)) {
    fputs("no request came\n", stderr);
    return 1;
  }
  /* The last line of a refusal; the exit code goes with it. */
  fputs("refused: NAME carries nothing yet\n", stderr);
  return 2;
}
