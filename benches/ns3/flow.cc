// One TCP flow of ns-3 over a path of the clean grid; prints its measurements as one line of JSON.
//
//   flow --rate=20e6 --rtt=50 --packets=83 --bytes=20000000 --control=ns3::TcpCubic
//
// Sender - router - receiver. The router's device toward the receiver is the bottleneck, with a
// drop-tail queue and no queue discipline. The reverse direction is as good as a pure delay. Where
// ns-3's defaults differ from the hosts of the grid, the hosts count: segments of 1448 bytes,
// timestamps, SACK, an initial window of 10, an RTO of at least 200 ms, buffers that never limit.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>

using namespace ns3;

namespace {

constexpr uint32_t kSegment = 1448;
constexpr uint16_t kPort = 5000;
// A full packet of IP on the grid's links, and with the header of ns-3's point-to-point link.
constexpr double kGridPacket = 1514, kPppPacket = 1502;

struct Flow {
  Ptr<Socket> socket;
  uint64_t size = 0, written = 0;
  Time start;
  // Of the sender.
  uint32_t cwnd = 0;
  bool slow_start = true;
  double exit_cwnd = 0, exit_s = -1;
  uint64_t highest = 0, retransmitted = 0;
  // When the sender knew that so many bytes had arrived.
  static constexpr double kMarks[] = {1e5, 1e6, 5e6, 20e6};
  double reached[4] = {-1, -1, -1, -1};
  // Of the receiver.
  uint64_t received = 0;
  double done_s = -1;

  double Elapsed() const { return (Simulator::Now() - start).GetSeconds(); }

  void Write() {
    while (written < size) {
      const uint64_t left = size - written;
      const uint32_t room = std::min<uint64_t>(left, socket->GetTxAvailable());
      if (room == 0) return;
      const int done = socket->Send(Create<Packet>(std::min<uint32_t>(room, 45 * kSegment)));
      if (done <= 0) return;
      written += done;
    }
    socket->Close();
  }

  void OnAck(SequenceNumber32, SequenceNumber32 now) {
    const double bytes = double(now.GetValue()) - 1;
    for (int mark = 0; mark < 4; ++mark) {
      if (reached[mark] < 0 && bytes >= kMarks[mark]) reached[mark] = Elapsed();
    }
  }

  void OnWindow(uint32_t, uint32_t now) { cwnd = now; }

  void OnThreshold(uint32_t, uint32_t now) {
    if (slow_start && now < uint32_t(std::numeric_limits<int32_t>::max())) {
      slow_start = false;
      exit_cwnd = double(cwnd) / kSegment;
      exit_s = Elapsed();
    }
  }

  void OnSent(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>) {
    if (packet->GetSize() == 0) return;
    const uint64_t first = header.GetSequenceNumber().GetValue();
    if (first < highest) ++retransmitted;
    highest = std::max<uint64_t>(highest, first + packet->GetSize());
  }
};

}  // namespace

int main(int argc, char* argv[]) {
  double rate = 0, rtt_ms = 0;
  uint32_t packets = 0;
  Flow flow;
  std::string control;
  bool hystart = true;
  CommandLine line;
  line.AddValue("rate", "bit/s", rate);
  line.AddValue("rtt", "ms", rtt_ms);
  line.AddValue("packets", "of the buffer", packets);
  line.AddValue("bytes", "to send", flow.size);
  line.AddValue("control", "type of the congestion control", control);
  line.AddValue("hystart", "of TcpCubic", hystart);
  line.Parse(argc, argv);

  Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(control));
  Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(hystart));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kSegment));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(128 << 20));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(128 << 20));
  Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
  Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(1)));

  NodeContainer nodes(3);
  PointToPointHelper near, far;
  near.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(1e12))));
  near.SetChannelAttribute("Delay", TimeValue(Seconds(0)));
  near.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000000p"));
  far.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(1e12))));
  far.SetChannelAttribute("Delay", TimeValue(Seconds(rtt_ms / 2e3)));
  far.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(std::to_string(packets) + "p"));
  NetDeviceContainer to_router = near.Install(nodes.Get(0), nodes.Get(1));
  NetDeviceContainer to_receiver = far.Install(nodes.Get(1), nodes.Get(2));
  to_receiver.Get(0)->SetAttribute(
      "DataRate", DataRateValue(DataRate(uint64_t(rate * kPppPacket / kGridPacket))));
  InternetStackHelper().Install(nodes);
  Ipv4AddressHelper addresses("10.1.1.0", "255.255.255.0");
  addresses.Assign(to_router);
  addresses.NewNetwork();
  Ipv4InterfaceContainer far_side = addresses.Assign(to_receiver);
  TrafficControlHelper().Uninstall(to_router);
  TrafficControlHelper().Uninstall(to_receiver);
  Ipv4GlobalRoutingHelper::PopulateRoutingTables();

  Ptr<Socket> listener = Socket::CreateSocket(nodes.Get(2), TcpSocketFactory::GetTypeId());
  listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), kPort));
  listener->Listen();
  listener->SetAcceptCallback(
      MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
      Callback<void, Ptr<Socket>, const Address&>([&flow](Ptr<Socket> accepted, const Address&) {
        accepted->SetRecvCallback(Callback<void, Ptr<Socket>>([&flow](Ptr<Socket> readable) {
          while (Ptr<Packet> data = readable->Recv()) {
            if (data->GetSize() == 0) break;
            flow.received += data->GetSize();
            if (flow.received >= flow.size && flow.done_s < 0) {
              flow.done_s = flow.Elapsed();
              // The last ACK is still under way.
              Simulator::Stop(Seconds(5));
            }
          }
        }));
      }));

  flow.socket = Socket::CreateSocket(nodes.Get(0), TcpSocketFactory::GetTypeId());
  flow.socket->TraceConnectWithoutContext("CongestionWindow", MakeCallback(&Flow::OnWindow, &flow));
  flow.socket->TraceConnectWithoutContext("SlowStartThreshold",
                                          MakeCallback(&Flow::OnThreshold, &flow));
  flow.socket->TraceConnectWithoutContext("HighestRxAck", MakeCallback(&Flow::OnAck, &flow));
  flow.socket->TraceConnectWithoutContext("Tx", MakeCallback(&Flow::OnSent, &flow));
  flow.socket->SetConnectCallback(
      Callback<void, Ptr<Socket>>([&flow](Ptr<Socket>) { flow.Write(); }),
      MakeNullCallback<void, Ptr<Socket>>());
  flow.socket->SetSendCallback(
      Callback<void, Ptr<Socket>, uint32_t>([&flow](Ptr<Socket>, uint32_t) { flow.Write(); }));
  Simulator::Schedule(Seconds(1), [&flow, &far_side]() {
    flow.start = Simulator::Now();
    flow.socket->Connect(InetSocketAddress(far_side.GetAddress(1), kPort));
  });
  Simulator::Stop(Seconds(1200));
  Simulator::Run();

  auto number = [](double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    return value < 0 ? std::string("null") : std::string(text);
  };
  std::printf(
      "{\"exit_cwnd\": %s, \"exit_s\": %s, \"retransmitted\": %llu, \"mb0.1_s\": %s, "
      "\"mb1_s\": %s, \"mb5_s\": %s, \"mb20_s\": %s, \"goodput_mbit\": %s}\n",
      number(flow.exit_s < 0 ? -1 : flow.exit_cwnd).c_str(), number(flow.exit_s).c_str(),
      static_cast<unsigned long long>(flow.retransmitted), number(flow.reached[0]).c_str(),
      number(flow.reached[1]).c_str(), number(flow.reached[2]).c_str(),
      number(flow.reached[3]).c_str(),
      number(flow.done_s < 0 ? -1 : flow.size * 8e-6 / flow.done_s).c_str());
  Simulator::Destroy();
  return 0;
}
