/**
 * The operator as its image runs it, but for its time, which passes as fast as its world's: `DAY_CLOCK` holds the factor,
 * the world's time at a moment, and that moment in real time. It tells its parent the port of its metrics.
 */
import { getHeapStatistics } from 'node:v8';
import { labThread } from '../../../src/controllers/disruption/labthread.ts';
import { threadSolver } from '../../../src/controllers/threadsolver.ts';
import { steadyClock } from '../../../src/kube/clock.ts';
import { startOperator } from '../../../src/main.ts';
import { memoryBudget } from '../../../src/observe/memory-budget.ts';

const [factor = 1, worldMs = 0, realMs = 0] = (process.env.DAY_CLOCK ?? '').split(',').map(Number);
const { worker: resourceLimits } = memoryBudget(Number(process.env.MEMORY_LIMIT), getHeapStatistics().heap_size_limit);
const operator = await startOperator({
  argv: [],
  env: process.env,
  clock: steadyClock(factor, worldMs + (Date.now() - realMs) * factor),
  solver: threadSolver({ resourceLimits }).solve,
  laboratory: labThread({ resourceLimits }),
});
process.send?.({ metricsPort: operator.metricsPort });
process.on('disconnect', () => process.exit());
