/** Program that plays lives for `runs.ts`, one after the other. */
import { setFlagsFromString } from 'node:v8';
import { messageOf } from '#lib';
import { lifeFigures, run } from '#replay/testing';
import { DEFAULT_WORLD } from '#replay/world-model';
import { lowestCostUsd } from './bound.ts';
import { traceOf } from './kinds.ts';
import type { LifeJob, LifeOutcome } from './runs.ts';
import { gpuUseOf, setOf } from './settings.ts';

// a larger heap would only keep garbage
setFlagsFromString('--heap-growing-percent=100');

async function play({ kind, life, setting }: LifeJob): Promise<LifeOutcome> {
  const before = process.cpuUsage();
  const cpuSeconds = (): number => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1e6;
  };
  try {
    const trace = await traceOf(kind, life);
    const { cpus = undefined, world = {} } = 'file' in kind ? {} : kind;
    const gpuUse = await gpuUseOf(trace);
    const set = setOf(setting, gpuUse, { ...life, cpus });
    const model = { ...DEFAULT_WORLD, ...world };
    const result = await run({
      ...{ trace, world: model, set, life: life.number },
      signal: undefined,
      onProgress: () => {},
    });
    const hasBound = life.capacity === 'on-demand' && gpuUse === 'none';
    const lowestUsd = hasBound ? await lowestCostUsd(trace, set.objects, model.podStartSeconds) : undefined;
    const idleCpu = result.idle.cpu;
    return { figures: lifeFigures(result, life.number), idleCpu, lowestUsd, cpuSeconds: cpuSeconds() };
  } catch (error) {
    return { failure: messageOf(error), cpuSeconds: cpuSeconds() };
  }
}

process.on('message', (job: LifeJob) => void play(job).then((outcome) => process.send?.(outcome)));
process.on('disconnect', () => process.exit());
