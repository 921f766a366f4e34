/** Scores by requested CPU and memory of a node. */
import { podRequests, scoredRequests } from '../amounts.ts';
import { BEST, type Score } from './score.ts';

const freePercent = (requested: number, allocatable: number): number =>
  requested > allocatable ? 0 : Math.floor(((allocatable - requested) * BEST) / allocatable);

/** NodeResourcesFit with the strategy LeastAllocated: the free share of CPU and memory. */
export const leastAllocated: Score = (pod, _cluster, nodes) => {
  const { cpu = 0, memory = 0 } = scoredRequests(pod);
  return nodes.map(({ allocatable, scored }) => {
    const [allCpu, allMemory] = [allocatable.cpu ?? 0, allocatable.memory ?? 0];
    const freeCpu = allCpu === 0 ? undefined : freePercent((scored.cpu ?? 0) + cpu, allCpu);
    const freeMemory = allMemory === 0 ? undefined : freePercent((scored.memory ?? 0) + memory, allMemory);
    if (freeCpu !== undefined && freeMemory !== undefined) return Math.floor((freeCpu + freeMemory) / 2);
    return freeCpu ?? freeMemory ?? 0;
  });
};

/** Returns the similarity of both used shares, from 50 to 100. */
function balance(cpu: number, allCpu: number, memory: number, allMemory: number): number {
  if (allCpu === 0 || allMemory === 0) return BEST;
  const deviation = Math.abs((Math.min(1, cpu / allCpu) - Math.min(1, memory / allMemory)) / 2);
  return Math.trunc((1 - deviation) * BEST);
}

/**
 * NodeResourcesBalancedAllocation: 75 if the pod does not change the balance of the node, up to 100 if it improves the
 * balance.
 */
export const balancedAllocation: Score = (pod, _cluster, nodes) => {
  const { cpu = 0, memory = 0 } = podRequests(pod);
  if (cpu === 0 && memory === 0) return undefined;
  return nodes.map(({ allocatable, requested }) => {
    const [allCpu, allMemory] = [allocatable.cpu ?? 0, allocatable.memory ?? 0];
    const [usedCpu, usedMemory] = [requested.cpu ?? 0, requested.memory ?? 0];
    const before = balance(usedCpu, allCpu, usedMemory, allMemory);
    const after = balance(usedCpu + cpu, allCpu, usedMemory + memory, allMemory);
    return BEST / 2 + Math.floor((BEST / 2 + after - before) / 2);
  });
};
