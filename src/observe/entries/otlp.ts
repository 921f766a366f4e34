export { openTracer } from '../traces/otlp.ts';
