export { joinCluster, type RunningCluster } from '../join.ts';
export { connectRemotely } from '../remote-client.ts';
export { type Surroundings, startWorld, type World, type WorldOptions } from '../world.ts';
