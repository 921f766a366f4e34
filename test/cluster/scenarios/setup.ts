/** Before each file of scenarios: they take place on a real control plane, which ends with the file. */
import { playOn } from '../../operator/harness.ts';
import { realStage } from './stage.ts';

const stage = realStage();
const before = playOn(stage);
// For the environment, which ends after every hook of the file.
Object.assign(globalThis, {
  closeStage: async () => {
    playOn(before);
    await stage.close();
  },
});
