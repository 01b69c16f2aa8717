// An agent for Node without any package: REST as docs/protocol.md says.
//
//   node agent.js 8085
//   nav-eval evaluate demo_vln --agent http://localhost:8085
"use strict";
const http = require("node:http");

const episodes = new Map(); // session_id → what we remember of the episode

function readMiddle(tensor) {
  const [height, width] = tensor.shape;
  const data = Buffer.from(tensor.data, "base64");
  return data.readFloatLE(4 * (Math.floor(height / 2) * width + Math.floor(width / 2)));
}

const answers = {
  "/describe": ({ task }) => ({
    name: "node",
    version: process.version,
    protocol_versions: [1],
    sensors: "depth" in task.sensors ? ["depth"] : [],
    max_episodes: 8,
    observations: "tensor",
  }),
  "/episode/reset": ({ session_id, task }) => {
    episodes.set(session_id, { steps: 0, most: Math.min(task.max_steps || 50, 50), actions: Object.keys(task.actions) });
    return {};
  },
  "/episode/act": ({ session_id, sequence, observation }) => {
    const episode = episodes.get(session_id);
    if (!episode) throw new Error(`there is no episode ${session_id}`);
    const { depth } = observation.sensors;
    const ahead = depth ? readMiddle(depth) : 9;
    episode.steps += 1;
    const wanted = episode.steps >= episode.most ? "stop" : ahead > 0.6 ? "move_forward" : "turn_left";
    return { action: episode.actions.includes(wanted) ? wanted : episode.actions[0], sequence };
  },
  "/episode/end": ({ session_id }) => {
    episodes.delete(session_id);
    return {};
  },
};

const server = http.createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    let status = 200;
    let document = {};
    try {
      if (request.method === "GET") status = request.url === "/health" ? 200 : 404;
      else if (!(request.url in answers)) status = 404;
      else document = answers[request.url](JSON.parse(Buffer.concat(parts).toString()));
    } catch (error) {
      status = 400;
      document = { detail: String(error) };
    }
    const body = JSON.stringify(document);
    response.writeHead(status, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
    response.end(body);
  });
});
server.listen(Number(process.argv[2] ?? 8085), "127.0.0.1", () => console.log(server.address().port));
