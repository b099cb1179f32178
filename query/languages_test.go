package query_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/query"
)

// A sentence is found by a word or a phrase out of it, also in another form of the word where its language has stems, and no
// sentence of another language with it.
func TestLanguages(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	list := []struct {
		language, sentence string
		questions          []string
	}{
		{"English", "Our neighbour repairs old bicycles in the garage.", []string{"bicycle", "who is repairing bicycles?"}},
		{"German", "Die Großmutter bäckt jeden Sonntag Pflaumenkuchen.", []string{"Pflaumenkuchen", "Grossmutter", "die Großmutter am Sonntag"}},
		{"French", "Les éléphants de la forêt boivent à la rivière.", []string{"éléphant", "foret", "les rivières de la forêt"}},
		{"Spanish", "Las hermanas de Lucía cultivan tomates en la montaña.", []string{"hermana", "montana", "las montañas de los tomates"}},
		{"Swedish", "Jag har köpt en båt och den ligger i hamnen.", []string{"båt", "en båt i hamnen"}},
		{"Norwegian", "Fiskeren selger ikke torsk på torget om vinteren.", []string{"torsk", "på torget om vinteren"}},
		{"Hungarian", "A szomszéd kutyája nem szereti az esőt.", []string{"szomszéd", "szereti az esőt"}},
		{"Polish", "Łódka żeglarza stoi przy moście.", []string{"łódka", "zeglarza", "przy moście"}},
		{"Turkish", "İstanbul'da martılar simit bekliyor.", []string{"istanbul", "martılar", "simit bekliyor"}},
		{"Russian", "Бабушка читает внукам старые сказки.", []string{"сказка", "бабушке", "старые сказки"}},
		{"Greek", "Ο ψαράς επισκευάζει τα δίχτυα του.", []string{"διχτυα", "ΨΑΡΑΣ", "επισκευάζει τα δίχτυα"}},
		{"Arabic", "تعمل المهندسة في مصنع الزجاج كل صباح.", []string{"مهندسة", "الزجاج", "مَصنَع الزجاج"}},
		{"Hebrew", "הספרן מחפש מפה ישנה במרתף.", []string{"מפה", "מַפָּה", "מפה ישנה"}},
		{"Persian", "باغبان درختان گیلاس را آب می\u200cدهد.", []string{"گیلاس", "درختان گيلاس"}},
		{"Hindi", "किसान खेत में सरसों उगाता है।", []string{"सरसों", "खेत में सरसों"}},
		{"Bengali", "জেলে নদীতে ইলিশ ধরে।", []string{"ইলিশ", "নদীতে ইলিশ"}},
		{"Thai", "ช่างไม้ซ่อมเก้าอี้ในสวน", []string{"เก้าอี้", "ซ่อมเก้าอี้"}},
		{"Khmer", "ចុងភៅទិញត្រីនៅផ្សារ", []string{"ត្រី", "ទិញត្រី"}},
		{"Chinese", "裁缝把红色纽扣放进抽屉。", []string{"纽扣", "红色纽扣", "抽屉"}},
		{"Japanese", "庭師は毎朝バラに水をやる。", []string{"バラ", "水", "毎朝バラに水"}},
		{"Korean", "할머니는 장독에 간장을 담근다.", []string{"간장", "할머니", "장독에 간장"}},
	}
	ids := map[string]string{}
	for _, l := range list {
		ids[n.Tell("polyglot", l.sentence)] = l.language
	}
	for _, l := range list {
		for _, q := range l.questions {
			var got []string
			for _, r := range n.ask(query.RecallRequest{Query: q, Subject: "polyglot"}).Results {
				got = append(got, ids[r.ID])
			}
			if diff := cmp.Diff([]string{l.language}, got); diff != "" {
				t.Errorf("%s: %q (-want +got):\n%s", l.language, q, diff)
			}
		}
	}
}
