export { examine } from '../doctor/doctor.ts';
export { autoScalingGroups, examineForUpgrade } from '../doctor/upgrade.ts';
