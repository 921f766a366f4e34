export { WorkerSolver } from './engine-worker.ts';
export { localSimulationRunner, type SimulationRunner } from './simulation-runner.ts';
export { localSolver, type Solver } from './solver.ts';
export { Suspects } from './supervision.ts';
export { WorkerSimulationRunner } from './worker-simulation-runner.ts';
export { WorkerTurns } from './worker-turns.ts';
