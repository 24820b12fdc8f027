/* Drives a controller by lines on standard input, and prints what it decides after each. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "slowstart.h"

int main(int count, char **words) {
    struct slowstart_options options = {SLOWSTART_VERSION, 1, 1, 1, 0, 0, NULL, 0, 0, 0, 1};
    char error[256];
    if (count != 4)
        return 2;
    options.algorithm = words[1];
    sscanf(words[2], "%" SCNu64, &options.datagram);
    sscanf(words[3], "%" SCNu64, &options.initial_window);
    struct slowstart_controller *controller = slowstart_new(&options, error, sizeof error);
    if (!controller) {
        printf("refused %s\n", error);
        return 0;
    }
    char word[16];
    uint64_t a, b, c, d, line = 0;
    while (scanf("%15s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, word, &a, &b, &c, &d) == 5) {
        if (!strcmp(word, "handshake"))
            slowstart_on_handshake(controller, a, b);
        else if (!strcmp(word, "sent"))
            slowstart_on_sent(controller, a, b, c);
        else if (!strcmp(word, "acked"))
            slowstart_on_acked(controller, a, b, c, d);
        else if (!strcmp(word, "end"))
            slowstart_on_batch_end(controller, a, b, (uint32_t)c);
        else if (!strcmp(word, "lost"))
            slowstart_on_lost(controller, a, b, c);
        else if (!strcmp(word, "congestion"))
            slowstart_on_congestion(controller, a, b, (enum slowstart_congestion)c, d);
        else
            return 2;
        /* A copy has the same state. */
        if (++line % 500 == 0) {
            struct slowstart_controller *copy = slowstart_clone(controller);
            slowstart_free(controller);
            controller = copy;
        }
        struct slowstart_exit exit = {0, 0, "none"};
        slowstart_exited(controller, &exit);
        printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n",
               slowstart_window(controller), slowstart_threshold(controller),
               slowstart_pace(controller), exit.at, exit.cwnd, exit.reason);
    }
    slowstart_free(controller);
    return 0;
}
