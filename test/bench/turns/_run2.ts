import { clusterLines } from './cluster.ts';

const [nodes = 500, pods = 5000] = process.argv.slice(2).map(Number);
for await (const line of clusterLines({ nodes, pods })) console.log(JSON.stringify(line));
process.exit();
