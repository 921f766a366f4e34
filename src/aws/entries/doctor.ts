export { examine, type Finding } from '../doctor/doctor.ts';
export { autoScalingGroups, examineForUpgrade } from '../doctor/upgrade.ts';
