// An agent in C++17 without any library: REST as docs/protocol.md says, over plain sockets.
//
//   g++ -std=c++17 -O2 -pthread -o agent agent.cpp && ./agent 8085
//   nav-eval evaluate demo_vln --agent http://localhost:8085
//
// It goes ahead and turns by turns, from the instruction and the number of the step alone. Your own agent would read the
// observation with the JSON library of its choice; here the three fields that matter are found by hand.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <thread>

static std::map<std::string, int> steps;  // session_id → actions so far
static std::mutex guard;

// The value of a key whose name occurs once before any nested object can repeat it; enough for our four messages.
static std::string find_value(const std::string& text, const std::string& key) {
  size_t at = text.find("\"" + key + "\"");
  if (at == std::string::npos) return "";
  at = text.find(':', at) + 1;
  while (at < text.size() && (text[at] == ' ' || text[at] == '"')) ++at;
  size_t end = text.find_first_of("\",}", at);
  return text.substr(at, end - at);
}

static std::string answer(const std::string& path, const std::string& body, int& status) {
  status = 200;
  if (path == "/health") return "{}";
  if (path == "/describe")
    return R"({"name": "c++", "version": "1", "protocol_versions": [1], "max_episodes": 8, "observations": "tensor"})";
  std::string session = find_value(body, "session_id");
  std::lock_guard<std::mutex> lock(guard);
  if (path == "/episode/reset") {
    steps[session] = 0;
    return "{}";
  }
  if (path == "/episode/end") {
    steps.erase(session);
    return "{}";
  }
  if (path != "/episode/act" || !steps.count(session)) {
    status = path == "/episode/act" ? 400 : 404;
    return R"({"detail": "there is no such episode or path"})";
  }
  int step = ++steps[session];
  std::string name = step >= 20 ? "stop" : step % 4 == 0 ? "turn_left" : "move_forward";
  return R"({"action": ")" + name + R"(", "sequence": )" + find_value(body, "sequence") + "}";
}

static bool read_until(int line, std::string& buffer, size_t needed, const char* mark) {
  char block[65536];
  while (mark ? buffer.find(mark) == std::string::npos : buffer.size() < needed) {
    ssize_t got = read(line, block, sizeof block);
    if (got <= 0) return false;
    buffer.append(block, got);
  }
  return true;
}

static void serve(int line) {
  std::string buffer;
  while (read_until(line, buffer, 0, "\r\n\r\n")) {
    size_t head = buffer.find("\r\n\r\n") + 4;
    std::string top = buffer.substr(0, head);
    for (char& letter : top) letter = letter >= 'A' && letter <= 'Z' ? letter + 32 : letter;
    size_t at = top.find("content-length:");
    size_t length = at == std::string::npos ? 0 : std::strtoul(top.c_str() + at + 15, nullptr, 10);
    size_t from = buffer.find(' ') + 1;
    std::string path = buffer.substr(from, buffer.find(' ', from) - from);
    if (!read_until(line, buffer, head + length, nullptr)) break;
    int status = 200;
    std::string body = answer(path, buffer.substr(head, length), status);
    std::string reply = "HTTP/1.1 " + std::to_string(status) + " .\r\nContent-Type: application/json\r\nContent-Length: " +
                        std::to_string(body.size()) + "\r\n\r\n" + body;
    if (write(line, reply.data(), reply.size()) < 0) break;
    buffer.erase(0, head + length);
  }
  close(line);
}

int main(int count, char** words) {
  int door = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  place.sin_port = htons(count > 1 ? std::atoi(words[1]) : 8085);
  if (bind(door, reinterpret_cast<sockaddr*>(&place), sizeof place) || listen(door, 64)) return 1;
  socklen_t size = sizeof place;
  getsockname(door, reinterpret_cast<sockaddr*>(&place), &size);
  std::cout << ntohs(place.sin_port) << std::endl;
  while (true) std::thread(serve, accept(door, nullptr, nullptr)).detach();
}
