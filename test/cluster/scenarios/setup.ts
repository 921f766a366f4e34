/** Runs each file of scenarios on a real control plane, which stops after the file. */
import { playOn } from '../../operator/harness.ts';
import { realStage } from './stage.ts';

const stage = realStage();
const before = playOn(stage);
// For the environment, which is torn down after every hook of the file.
Object.assign(globalThis, {
  closeStage: async () => {
    playOn(before);
    await stage.close();
  },
});
