package uselite

// Option changes how New makes a model.
type Option func(*options)

type options struct {
	kernel Kernel
}

// WithKernel forces a kernel, for tests and benchmarks; the default is KernelAuto.
func WithKernel(k Kernel) Option {
	return func(o *options) { o.kernel = k }
}
