// The ad-hoc network of adhoc.toml in ns-3; prints frames, CPU seconds of the run and bytes received.
//
//   adhoc --positions=positions.csv [--seconds=100]
//
// The same nodes, places, range, rates, routes and flows as there. Power falls with two rays and ends
// at the range (RangePropagationLossModel), so no radio senses beyond it, as in adhoc.toml. Routes are
// the shortest ones, and never change. Where ns-3's defaults differ from those of slowstart,
// slowstart's count: RTS before each unicast frame, interface queues of 50 packets, whose packets do
// not expire, and no queue discipline.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/propagation-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-module.h"

#include <sys/resource.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

using namespace ns3;

namespace {

constexpr uint16_t kPort = 5000;
constexpr uint32_t kSegment = 1024;
constexpr uint32_t kFlows = 20;
constexpr double kStagger = 0.15;
// 250 m and 24.5 dBm with a multiplier of 1.316, whose fourth power raises the power.
constexpr double kRange = 250 * 1.316, kPower = 24.5 + 4.7705;

uint64_t frames = 0, received = 0;

double CpuSeconds() {
  rusage use;
  getrusage(RUSAGE_SELF, &use);
  return use.ru_utime.tv_sec + use.ru_stime.tv_sec +
         1e-6 * (use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

// For each node, the neighbour with the lowest number on a shortest path to `to`.
std::vector<uint32_t> NextHops(const std::vector<Vector>& places, uint32_t to) {
  const uint32_t count = places.size(), unknown = count;
  auto hears = [&](uint32_t a, uint32_t b) {
    return a != b && CalculateDistance(places[a], places[b]) <= kRange;
  };
  std::vector<uint32_t> hops(count, unknown), next(count, unknown);
  std::vector<uint32_t> reached{to};
  hops[to] = 0;
  for (size_t at = 0; at < reached.size(); ++at) {
    for (uint32_t node = 0; node < count; ++node) {
      if (hops[node] == unknown && hears(node, reached[at])) {
        hops[node] = hops[reached[at]] + 1;
        reached.push_back(node);
      }
    }
  }
  for (uint32_t node = 0; node < count; ++node) {
    for (uint32_t via = 0; via < count && next[node] == unknown; ++via) {
      if (hears(node, via) && hops[via] + 1 == hops[node]) next[node] = via;
    }
  }
  return next;
}

void OnFrame(Ptr<const Packet>, double) { ++frames; }

void OnData(Ptr<Socket> socket) {
  while (Ptr<Packet> data = socket->Recv()) {
    if (data->GetSize() == 0) break;
    received += data->GetSize();
  }
}

void Write(Ptr<Socket> socket, uint32_t) {
  while (socket->GetTxAvailable() >= 16 * kSegment) {
    if (socket->Send(Create<Packet>(16 * kSegment)) <= 0) return;
  }
}

}  // namespace

int main(int argc, char* argv[]) {
  std::string places;
  double seconds = 100;
  CommandLine line;
  line.AddValue("positions", "CSV file of node,x,y", places);
  line.AddValue("seconds", "from the first flow's start", seconds);
  line.Parse(argc, argv);

  Ptr<ListPositionAllocator> positions = CreateObject<ListPositionAllocator>();
  std::ifstream file(places);
  std::vector<Vector> list;
  for (std::string row; std::getline(file, row);) {
    unsigned node;
    double x, y;
    if (std::sscanf(row.c_str(), "%u,%lf,%lf", &node, &x, &y) == 3) {
      positions->Add(Vector(x, y, 0));
      list.push_back(Vector(x, y, 0));
    }
  }
  const uint32_t count = list.size();
  if (count <= kFlows) {
    std::fprintf(stderr, "adhoc: %s has no positions of %u nodes\n", places.c_str(), kFlows + 1);
    return 2;
  }

  Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpCubic"));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kSegment));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));
  Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
  Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(1)));
  Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", StringValue("0"));
  Config::SetDefault("ns3::WifiMac::FrameRetryLimit", UintegerValue(7));
  Config::SetDefault("ns3::WifiMacQueue::MaxSize", StringValue("50p"));
  Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(1000)));

  NodeContainer nodes(count);
  YansWifiChannelHelper channel;
  channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
  channel.AddPropagationLoss("ns3::TwoRayGroundPropagationLossModel", "Frequency",
                             DoubleValue(914e6), "HeightAboveZ", DoubleValue(1.5));
  channel.AddPropagationLoss("ns3::RangePropagationLossModel", "MaxRange", DoubleValue(kRange));
  YansWifiPhyHelper phy;
  phy.SetChannel(channel.Create());
  phy.Set("TxPowerStart", DoubleValue(kPower));
  phy.Set("TxPowerEnd", DoubleValue(kPower));
  WifiMacHelper mac;
  mac.SetType("ns3::AdhocWifiMac");
  WifiHelper wifi;
  wifi.SetStandard(WIFI_STANDARD_80211b);
  const StringValue rate("DsssRate1Mbps");
  wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", rate, "ControlMode",
                               rate, "NonUnicastMode", rate);
  NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
  MobilityHelper mobility;
  mobility.SetPositionAllocator(positions);
  mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
  mobility.Install(nodes);
  for (uint32_t node = 0; node < count; ++node) {
    Ptr<WifiNetDevice> device = DynamicCast<WifiNetDevice>(devices.Get(node));
    device->GetPhy()->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&OnFrame));
  }

  Ipv4StaticRoutingHelper routing;
  InternetStackHelper stack;
  stack.SetRoutingHelper(routing);
  stack.Install(nodes);
  Ipv4AddressHelper addresses("10.1.0.0", "255.255.0.0");
  Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
  TrafficControlHelper().Uninstall(devices);
  for (uint32_t to = 0; to < count; ++to) {
    const std::vector<uint32_t> next = NextHops(list, to);
    for (uint32_t node = 0; node < count; ++node) {
      if (next[node] == count) continue;
      routing.GetStaticRouting(nodes.Get(node)->GetObject<Ipv4>())
          ->AddHostRouteTo(interfaces.GetAddress(to), interfaces.GetAddress(next[node]), 1);
    }
  }

  for (uint32_t flow = 0; flow < kFlows; ++flow) {
    Ptr<Socket> listener =
        Socket::CreateSocket(nodes.Get(flow + 1), TcpSocketFactory::GetTypeId());
    listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), kPort));
    listener->Listen();
    listener->SetAcceptCallback(
        MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
        Callback<void, Ptr<Socket>, const Address&>([](Ptr<Socket> accepted, const Address&) {
          accepted->SetRecvCallback(MakeCallback(&OnData));
        }));
    Ptr<Socket> sender = Socket::CreateSocket(nodes.Get(0), TcpSocketFactory::GetTypeId());
    sender->SetConnectCallback(
        Callback<void, Ptr<Socket>>([](Ptr<Socket> socket) { Write(socket, 0); }),
        MakeNullCallback<void, Ptr<Socket>>());
    sender->SetSendCallback(MakeCallback(&Write));
    const Address to = InetSocketAddress(interfaces.GetAddress(flow + 1), kPort);
    Simulator::Schedule(Seconds(kStagger * flow),
                        [sender, to]() { sender->Connect(to); });
  }

  Simulator::Stop(Seconds(seconds));
  const double before = CpuSeconds();
  Simulator::Run();
  const double used = CpuSeconds() - before;
  std::printf("%llu %.6f %llu\n", static_cast<unsigned long long>(frames), used,
              static_cast<unsigned long long>(received));
  Simulator::Destroy();
  return 0;
}
