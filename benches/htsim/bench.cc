// The scenarios of slowstart's `bench` in csg-htsim (github.com/Broadcom/csg-htsim), without logging.
//
//   htsim SCENARIO [--ssthresh PACKETS] [--check]
//
// SCENARIO is S1 to S4, S6 or S7, F and a number of bulk flows (L for ten times as long), or H and a
// number of hosts. Prints the
// packets through the bottleneck, the CPU seconds of the run without its construction, the peak memory
// in kilobytes, the use of the bottleneck, and its drops. --check also prints the use in each tenth
// of the time, to standard error.
//
// It is not the same work: the TCP of csg-htsim is NewReno without SACK, delayed ACKs or a limit of
// its windows, adds MSS^2/cwnd in whole bytes for an ACK (nothing above 1514 packets), sends whole
// segments only, and ends without a FIN. Its start-up threshold is therefore set for each
// scenario such that the link is as busy as in ours. A transfer between hosts has no request: the
// server sends a SYN. So S6 and S7, whose difference is the request, are one scenario here.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <deque>
#include <iostream>
#include <memory>
#include <random>
#include <vector>

#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "route.h"
#include "tcp.h"

namespace {

// What a full segment of 1448 bytes occupies on the links of ours.
constexpr int PACKET = 1514;
constexpr int PAYLOAD = 1448;

double cpu_seconds() {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_utime.tv_sec + used.ru_stime.tv_sec +
           (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

struct Setting {
    double mbit;
    std::vector<int> rtts_ms;
    int buffer, flows, hosts;
    double seconds;
    int ssthresh;
    // Between the starts of two flows.
    double apart_us;
};

bool setting_of(const char* name, Setting& found) {
    const int count = atoi(name + 1);
    if (!strcmp(name, "S1")) {
        found = {50, {100}, 413, 1, 0, 60, 700, 0};
    } else if (!strcmp(name, "S2")) {
        found = {144, {600}, 25000, 1, 0, 60, 12000, 0};
    } else if (!strcmp(name, "S3")) {
        found = {1000, {30}, 2477, 1, 0, 20, 3500, 0};
    } else if (!strcmp(name, "S4")) {
        found = {1000, {10, 34, 58, 81, 105, 129, 153, 176, 200}, 8256, 100, 0, 20, 100, 10000};
    } else if (!strcmp(name, "S6") || !strcmp(name, "S7")) {
        found = {10, {0}, 50, 0, 900, 300, 1 << 20, 0};
    } else if ((name[0] == 'F' || name[0] == 'L') && count > 0) {
        const int buffer = std::max(4130, 2 * count);
        const double seconds = name[0] == 'F' ? 5 : 50;
        found = {1000, {50}, buffer, count, 0, seconds, std::max(2, 7000 / count), 1e6 / count};
    } else if (name[0] == 'H' && count > 1) {
        found = {100, {0}, 500, 0, count, 30, 1 << 20, 0};
    } else {
        return false;
    }
    return true;
}

// A source that transfers again and again, each time between other hosts.
class Transfer : public TcpSrc {
  public:
    Transfer(std::deque<Transfer*>& over, EventList& events)
        : TcpSrc(NULL, NULL, events), over_(over) {}

    void receivePacket(Packet& packet) override {
        TcpSrc::receivePacket(packet);
        if (is_open_ && _last_acked > _flow_size) {
            is_open_ = false;
            over_since = eventlist().now();
            over_.push_back(this);
        }
    }

    void begin(uint64_t packets, Route* there, Route* home, simtime_picosec now) {
        out_.reset(there);
        back_.reset(home);
        is_open_ = true;
        _sawtooth = 0;
        _rtt_avg = _rtt_cum = 0;
        _base_rtt = timeInf;
        _highest_sent = 0;
        _effcwnd = 0;
        _cwnd = 10 * _mss;
        _last_acked = 0;
        _dupacks = 0;
        _rtt = _mdev = 0;
        _rto = timeFromMs(1000);
        _recoverq = 0;
        _in_fast_recovery = false;
        _rtx_timeout_pending = false;
        _RFC2988_RTO_timeout = timeInf;
        _flow_size = packets * _mss - 1;
        sink._received.clear();
        there->push_back(&sink);
        home->push_back(this);
        connect(*there, *home, sink, now);
    }

    TcpSink sink;
    simtime_picosec over_since = 0;

  private:
    std::deque<Transfer*>& over_;
    bool is_open_ = false;
    std::unique_ptr<Route> out_, back_;
};

// Two queues and two pipes, one of each for either direction.
struct Host {
    Host(double mbit, double delay_ms, EventList& events)
        : up(speedFromMbps(mbit), memFromPkt(1000), events, NULL),
          down(speedFromMbps(mbit), memFromPkt(1000), events, NULL),
          out(timeFromUs((uint32_t)(delay_ms * 1000)), events),
          in(timeFromUs((uint32_t)(delay_ms * 1000)), events) {}
    Queue up, down;
    Pipe out, in;
};

// Poisson arrivals of transfers with Pareto sizes between random hosts.
class Arrivals : public EventSource {
  public:
    Arrivals(const Setting& setting, Queue& bottleneck, EventList& events)
        : EventSource(events, "arrivals"),
          bottleneck_(bottleneck),
          scanner_(timeFromMs(10), events),
          per_second_(3.125 * setting.mbit) {
        const double servers[] = {0, 12, 25};
        const double clients[] = {2, 2, 2, 37, 37, 37, 75, 75, 75};
        for (int i = 0; i < setting.hosts / 2; i++) {
            servers_.emplace_back(new Host(10 * setting.mbit, servers[i % 3], events));
            clients_.emplace_back(new Host(10 * setting.mbit, clients[i % 9], events));
        }
        next();
    }

    void doNextEvent() override {
        const simtime_picosec now = eventlist().now();
        Host& server = *servers_[random_() % servers_.size()];
        Host& client = *clients_[random_() % clients_.size()];
        // Pareto with shape 1.1 and scale 2238.6 bytes, truncated at 10 MB: mean 14 kB.
        const double mass = 1 - pow(2238.6 / 1e7, 1.1);
        const double size = 2238.6 / pow(1 - uniform_(random_) * mass, 1 / 1.1);
        Route* there = new Route();
        for (PacketSink* hop :
             {(PacketSink*)&server.up, (PacketSink*)&server.out, (PacketSink*)&bottleneck_,
              (PacketSink*)&client.down, (PacketSink*)&client.in})
            there->push_back(hop);
        Route* home = new Route();
        for (PacketSink* hop : {(PacketSink*)&client.up, (PacketSink*)&client.out,
                                (PacketSink*)&server.down, (PacketSink*)&server.in})
            home->push_back(hop);
        opened++;
        free_one(now).begin((uint64_t)ceil(size / PAYLOAD), there, home, now);
        next();
    }

    uint64_t packets() const {
        uint64_t bytes = 0;
        for (const auto& one : all_) bytes += one->sink._packets;
        return bytes / PACKET + opened;
    }

    uint64_t opened = 0;

  private:
    void next() {
        const double gap = -log(1 - uniform_(random_)) / per_second_;
        eventlist().sourceIsPendingRel(*this, (simtime_picosec)(gap * 1e12));
    }

    // A source whose last transfer is over for two seconds, so that none of its packets is left.
    Transfer& free_one(simtime_picosec now) {
        if (!over_.empty() && over_.front()->over_since + timeFromSec(2) < now) {
            Transfer* found = over_.front();
            over_.pop_front();
            return *found;
        }
        all_.emplace_back(new Transfer(over_, eventlist()));
        scanner_.registerTcp(*all_.back());
        return *all_.back();
    }

    Queue& bottleneck_;
    TcpRtxTimerScanner scanner_;
    double per_second_;
    std::vector<std::unique_ptr<Host>> servers_, clients_;
    std::vector<std::unique_ptr<Transfer>> all_;
    std::deque<Transfer*> over_;
    std::mt19937_64 random_{1};
    std::uniform_real_distribution<double> uniform_{0, 1};
};

// Flows that do not end. Those of one RTT share two pipes, so that there are few pending events.
class Bulk {
  public:
    Bulk(const Setting& setting, Queue& bottleneck, EventList& events)
        : scanner_(timeFromMs(10), events) {
        for (int rtt : setting.rtts_ms) {
            pipes_.emplace_back(new Pipe(timeFromUs((uint32_t)(rtt * 500)), events));
            pipes_.emplace_back(new Pipe(timeFromUs((uint32_t)(rtt * 500)), events));
        }
        for (int i = 0; i < setting.flows; i++) {
            const size_t kind = i % setting.rtts_ms.size();
            TcpSrc* source = new TcpSrc(NULL, NULL, events);
            TcpSink* sink = new TcpSink();
            source->set_ssthresh((uint64_t)setting.ssthresh * PACKET);
            scanner_.registerTcp(*source);
            Route* there = new Route();
            there->push_back(&bottleneck);
            there->push_back(pipes_[2 * kind].get());
            there->push_back(sink);
            Route* home = new Route();
            home->push_back(pipes_[2 * kind + 1].get());
            home->push_back(source);
            source->connect(*there, *home, *sink, timeFromUs((uint32_t)(setting.apart_us * i)));
            sinks_.push_back(sink);
        }
    }

    uint64_t packets() const {
        uint64_t bytes = 0;
        for (const TcpSink* sink : sinks_) bytes += sink->_packets;
        return bytes / PACKET;
    }

  private:
    TcpRtxTimerScanner scanner_;
    std::vector<std::unique_ptr<Pipe>> pipes_;
    std::vector<TcpSink*> sinks_;
};

}  // namespace

int main(int argc, char** argv) {
    Setting setting;
    bool is_known = argc > 1 && setting_of(argv[1], setting);
    bool check = false;
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--ssthresh") && i + 1 < argc)
            setting.ssthresh = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--check"))
            check = true;
        else
            is_known = false;
    }
    if (!is_known) {
        fputs("usage: htsim S1..S4|S6|S7|F<flows>|L<flows>|H<hosts> [--ssthresh PACKETS] [--check]\n", stderr);
        return 2;
    }
    // The library writes each timeout and each end of a flow to cout: to nowhere.
    std::cout.setstate(std::ios::badbit);

    EventList& events = EventList::getTheEventList();
    const simtime_picosec end = timeFromSec(setting.seconds);
    events.setEndtime(end);
    Packet::set_packet_size(PACKET);
    Queue bottleneck(speedFromMbps(setting.mbit), memFromPkt(setting.buffer), events, NULL);
    std::unique_ptr<Bulk> bulk;
    std::unique_ptr<Arrivals> arrivals;
    // Ours takes its time with the construction of hosts and flows, and without that of the
    // description. So does this.
    const double before = cpu_seconds();
    if (setting.hosts)
        arrivals.reset(new Arrivals(setting, bottleneck, events));
    else
        bulk.reset(new Bulk(setting, bottleneck, events));
    auto packets = [&]() { return bulk ? bulk->packets() : arrivals->packets(); };
    const double capacity = setting.mbit * 1e6 * setting.seconds / (8 * PACKET);
    uint64_t seen = 0;
    int tenth = 1;
    while (events.doNextEvent()) {
        if (check && EventList::now() >= end / 10 * tenth) {
            const uint64_t now = packets();
            fprintf(stderr, "%.0f%% ", (now - seen) / capacity * 1000);
            seen = now;
            tenth++;
        }
    }
    const double after = cpu_seconds();
    if (check) fputs("\n", stderr);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("%llu %.6f %ld use %.1f%% drops %d\n", (unsigned long long)packets(), after - before,
           used.ru_maxrss, packets() / capacity * 100, bottleneck.num_drops());
    return 0;
}
