// An agent in JavaScript, written from agent.proto alone.
const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");

const [, , proto] = process.argv;
const definition = loader.loadSync(proto, { keepCase: true, oneofs: true, longs: Number, bytes: Buffer, defaults: true });
const { Agent } = grpc.loadPackageDefinition(definition).nav_eval.v1;

const TABLE = new Uint32Array(256).map((_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n >>> 0;
});
function crc32(data, value = 0) {
  let crc = ~value;
  for (const byte of data) crc = TABLE[(crc ^ byte) & 0xff] ^ (crc >>> 8);
  return ~crc >>> 0;
}

function describe(call, done) {
  done(null, { name: "node agent", version: process.version, protocol_versions: [1], max_episodes: 2 });
}

function episode(call) {
  let memory = 0;
  call.on("data", (request) => {
    if (request.request === "reset") {
      memory = crc32(Buffer.from(request.reset.episode.instruction.text));
      call.write({ reset: {} });
    } else if (request.request === "act") {
      const { sequence, observation } = request.act;
      for (const name of Object.keys(observation.sensors).sort()) memory = crc32(observation.sensors[name].raw, memory);
      const choice = ["move_forward", "turn_left", "turn_right"][memory % 3];
      call.write({ act: { sequence, actions: [{ name: observation.step === 19 ? "stop" : choice }] } });
    } else {
      call.write({ end: {} });
      call.end();
    }
  });
  call.on("end", () => call.end());
  call.on("error", () => {});
}

const server = new grpc.Server({ "grpc.max_receive_message_length": -1 });
server.addService(Agent.service, { Describe: describe, Episode: episode });
server.bindAsync(`unix:${process.env.NAV_EVAL_SOCKET}`, grpc.ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
});
