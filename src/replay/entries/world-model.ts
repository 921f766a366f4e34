export { readWorld } from '../world-model/read-world.ts';
export { DEFAULT_WORLD, type WorldModel } from '../world-model/world-model.ts';
