package main

import "fmt"

// names maps the tensors of the source that inference needs to their names in weights.bin.
func names() map[string]string {
	const (
		partitioned = "module_apply_default/Encoder_en/KonaTransformer/Encode/"
		plain       = "module/Encoder_en/KonaTransformer/Encode/"
		stack       = partitioned + "TransformerStack/"
		concat      = "/ConcatPartitions/concat"
		norm        = "layer_prepostprocess/layer_norm/layer_norm_"
	)

	m := map[string]string{
		"module/Embeddings_en": "emb",
		stack + "Layer_0/AddTimingSignal/TimingSignal/ExpandDims_1":    "timing",
		partitioned + "Layer_0/TransformerLayer/dense/kernel" + concat: "l0.res.w",
		partitioned + "Layer_0/TransformerLayer/dense/bias" + concat:   "l0.res.b",
		"module/Encoder_en/hidden_layers/tanh_layer_0/weights":         "tanh.w",
		"module/Encoder_en/hidden_layers/tanh_layer_0/bias":            "tanh.b",
	}

	for i := range 2 {
		short := fmt.Sprintf("l%d.", i)
		layer := fmt.Sprintf("Layer_%d/TransformerLayer/", i)
		attention := layer + "MultiheadAttention/"
		feedForward := layer + "FFN/"

		m[partitioned+layer+norm+"scale"+concat] = short + "ln.g"
		m[partitioned+layer+norm+"bias"+concat] = short + "ln.b"
		m[plain+attention+"qkv_transform_single/kernel/part_0"] = short + "qkv.w"
		m[partitioned+attention+"qkv_transform_single/bias"+concat] = short + "qkv.b"
		m[plain+attention+"output_transform_single/kernel/part_0"] = short + "out.w"
		m[partitioned+attention+"output_transform_single/bias"+concat] = short + "out.b"
		m[partitioned+feedForward+norm+"scale"+concat] = short + "fln.g"
		m[partitioned+feedForward+norm+"bias"+concat] = short + "fln.b"
		m[stack+feedForward+"conv1/Tensordot/Reshape_1"] = short + "f1.w"
		m[partitioned+feedForward+"conv1/bias"+concat] = short + "f1.b"
		m[stack+feedForward+"conv2/Tensordot/Reshape_1"] = short + "f2.w"
		m[partitioned+feedForward+"conv2/bias"+concat] = short + "f2.b"
	}

	return m
}
