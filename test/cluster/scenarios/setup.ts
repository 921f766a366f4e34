/** Runs each file of scenarios on a real control plane. */
import { playOn } from '../../operator/harness.ts';
import { realStage } from './stage.ts';

const before = playOn(realStage);
// For the environment, which is torn down after every hook of the file.
Object.assign(globalThis, { leaveStage: () => playOn(before) });
