export { EFA_DRIVER, NEURON_DRIVER, NVIDIA_DRIVER } from '../dra/drivers.ts';
export { type EfaModel, efaRoot, GPU_LAYOUTS, type GpuLayout, type GpuModel, gpuRoot } from '../dra/gpu-tables.ts';
export { KEPT_DECLARATION_FIELDS, KEPT_DEVICE_FIELDS } from '../dra/kept-device-fields.ts';
export {
  compileSelector,
  LONGEST_SELECTOR,
  type Selector,
  SelectorDevice,
  SelectorError,
  type SelectorScalar,
  type SelectorValue,
} from '../dra/selector.ts';
export { SelectorQuantity } from '../dra/selector-functions.ts';
