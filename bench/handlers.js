// The jobs of the benchmark do nothing, so what is measured is the gateway.
const double = ({ number }) => ({ number: number * 2 })

export const bench_0 = double
export const bench_1 = double
export const bench_2 = double
