export { isOldWebhook, leftovers } from '../doctor/beta.ts';
export { controllerOf, type FoundController } from '../doctor/cluster.ts';
