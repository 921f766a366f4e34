/** Lower bound of the cost of a life, from the pods that run at each moment. */
import type { KubeObject } from '#api/objects';
import type { Trace } from '#replay/trace';
import { fixedPods, readDemand } from '../clairvoyant/demand.ts';
import { dualVertices, offersFor, worthOf } from '../clairvoyant/offers.ts';

/**
 * Returns the cost in USD if fractions of the best nodes could start immediately and pods could move without cost. Constraints of
 * pods are ignored, so that no policy costs less. Prices must not change, so the bound is for on-demand nodes without GPUs.
 */
export async function lowestCostUsd(
  trace: Trace,
  objects: readonly KubeObject[],
  podStartSeconds: number,
): Promise<number> {
  const demand = await readDemand(trace, podStartSeconds, { isRelaxed: true });
  const vertices = dualVertices(await offersFor(objects, demand.daemons));
  const changes = fixedPods(demand).flatMap((pod) => [
    { pod, at: pod.at, by: 1 },
    { pod, at: Math.min(pod.at + pod.runs, pod.until), by: -1 },
  ]);
  let [usd, since, cpu, memory] = [0, 0, 0, 0];
  const until = (at: number): void => {
    const end = Math.min(at, demand.seconds);
    if (end <= since) return;
    // by duality, the vertex that rates the sum highest has its price in fractions of nodes
    usd += ((end - since) / 3600) * Math.max(0, ...vertices.map((worth) => worthOf({ cpu, memory }, worth)));
    since = end;
  };
  for (const { pod, at, by } of changes.sort((a, b) => a.at - b.at)) {
    until(at);
    cpu += by * pod.cpu;
    memory += by * pod.memory;
  }
  until(demand.seconds);
  return usd;
}
