export { assemble } from '../assembly.ts';
export { configureAws } from '../index.ts';
