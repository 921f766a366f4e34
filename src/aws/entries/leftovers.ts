export { isOldWebhook, leftovers } from '../doctor/beta.ts';
export { type FoundController, foundController } from '../doctor/cluster.ts';
