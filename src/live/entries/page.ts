export { type LivePage, openLive } from '../index.ts';
