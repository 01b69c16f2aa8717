// Asks Recast and Detour (npm's recast-navigation) for geodesic distances, as Habitat asks them.
//
//   node detour.mjs LIBRARY < job.json
//
// The job: {"navmesh": path of a .navmesh file} or {"positions": path, "indices": path, "config": Recast's},
// and "pairs": [[x, y, z, x, y, z], …]; "ways": [[x, y, z, …], …], lines of corners; "tile": a path that Detour's tile
// is written to. Prints {"area", "distances": [metres, or null without a way], "snapped": [[x, y, z, x, y, z] or null, …],
// "lengths": per line of corners, its legs by Detour added up, or null, "moved": how far sideways a corner was moved}.
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const library = path.resolve(process.argv[2], 'node_modules/recast-navigation');
const core = await import(pathToFileURL(path.join(library, 'index.mjs')).href);
const { generateSoloNavMesh } = await import(pathToFileURL(path.join(library, 'generators.mjs')).href);
await core.init();

const BOX = { x: 2, y: 4, z: 2 };
const MOST = 256;
const WALKABLE = 1;

function loadNavMesh(file) {
  const data = fs.readFileSync(file);
  const at = data.indexOf('VAND');
  const bytes = new core.UnsignedCharArray();
  bytes.copy(data.subarray(at, at + data.readInt32LE(at - 4)));
  const mesh = new core.NavMesh();
  if (!mesh.initSolo(bytes)) throw new Error('Detour refuses the tile');
  return mesh;
}

function buildNavMesh(job) {
  const read = (file, type) => {
    const data = fs.readFileSync(file);
    return new type(data.buffer, data.byteOffset, data.byteLength / 4);
  };
  const result = generateSoloNavMesh(read(job.positions, Float32Array), read(job.indices, Uint32Array), job.config);
  if (!result.success) throw new Error(result.error);
  return result.navMesh;
}

function measure(points) {
  let metres = 0;
  for (let k = 3; k < points.length; k += 3)
    metres += Math.hypot(points[k] - points[k - 3], points[k + 1] - points[k - 2], points[k + 2] - points[k - 1]);
  return metres;
}

function ask(query, pair) {
  const [start, end] = [0, 3].map((k) => ({ x: pair[k], y: pair[k + 1], z: pair[k + 2] }));
  const [first, last] = [start, end].map((point) => query.findNearestPoly(point, { halfExtents: BOX }));
  if (!first.nearestRef || !last.nearestRef) return [null, null];
  const [from, to] = [first.nearestPoint, last.nearestPoint];
  const snapped = [from.x, from.y, from.z, to.x, to.y, to.z];
  const corridor = query.findPath(first.nearestRef, last.nearestRef, from, to, { maxPathPolys: MOST });
  const polys = corridor.polys.toTypedArray();
  if (!corridor.success || polys.length === 0 || polys[polys.length - 1] !== last.nearestRef) return [null, snapped];
  const line = query.findStraightPath(from, to, corridor.polys, { maxStraightPathPoints: MOST });
  if (!line.success) return [null, snapped];
  return [measure(line.straightPath.toTypedArray().slice(0, 3 * line.straightPathCount)), snapped];
}

// From corner to corner by Detour's own ways: legs meet in the same place, so together they are one way on its polygons.
function walk(query, corners) {
  let [metres, moved] = [0, 0];
  for (let k = 0; k + 6 <= corners.length; k += 3) {
    const leg = corners.slice(k, k + 6);
    const [length, snapped] = ask(query, leg);
    if (length === null) return [null, null];
    metres += length;
    for (const end of [0, 3]) moved = Math.max(moved, Math.hypot(leg[end] - snapped[end], leg[end + 2] - snapped[end + 2]));
  }
  return [metres, moved];
}

const job = JSON.parse(fs.readFileSync(0, 'utf8'));
const mesh = job.navmesh ? loadNavMesh(job.navmesh) : buildNavMesh(job);
if (job.tile) {
  const data = Buffer.from(core.exportNavMesh(mesh));
  const at = data.indexOf('VAND');
  fs.writeFileSync(job.tile, data.subarray(at, at + data.readInt32LE(at - 4)));
}
const query = new core.NavMeshQuery(mesh, { maxNodes: 2048 });
const [positions, indices] = core.getNavMeshPositionsAndIndices(mesh);
let area = 0;
for (let k = 0; k < indices.length; k += 3) {
  const [a, b, c] = [0, 1, 2].map((n) => [0, 1, 2].map((axis) => positions[3 * indices[k + n] + axis]));
  const [p, q] = [b, c].map((corner) => corner.map((value, axis) => value - a[axis]));
  area += Math.hypot(p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]) / 2;
}
const answers = (job.pairs ?? []).map((pair) => ask(query, pair));
const walks = (job.ways ?? []).map((corners) => walk(query, corners));
console.log(
  JSON.stringify({
    area,
    distances: answers.map(([metres]) => metres),
    snapped: answers.map(([, snapped]) => snapped),
    lengths: walks.map(([metres]) => metres),
    moved: walks.map(([, moved]) => moved),
  }),
);
