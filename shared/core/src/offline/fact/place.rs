//! Places: which city lies in which country, so that a town and its country do not contradict each other.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::offline::token::lower;

/// How two places lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::offline) enum Relation {
    /// The same, or one inside the other, or it is possible.
    Within,
    /// Surely neither.
    Apart,
    /// At least one is not in the table.
    Unknown,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    City,
    Region,
    Country,
}

/// Countries with their large and well-known cities. Names that stand for cities of several countries are left out of
/// the implications by `*`.
const CITIES: &[(&str, &str)] = &[
    ("Portugal", "Lisbon|Porto|Braga|Coimbra|Faro"),
    ("Spain", "Madrid|Barcelona*|Seville|Bilbao|Malaga|Zaragoza|Granada*"),
    (
        "France",
        "Paris*|Lyon|Marseille|Toulouse|Bordeaux|Lille|Strasbourg|Grenoble|Montpellier",
    ),
    (
        "Germany",
        "Berlin|Munich|Hamburg|Cologne|Frankfurt|Stuttgart|Leipzig|Dresden|Düsseldorf|Hanover|Nuremberg|Bonn|Köln|München",
    ),
    (
        "Italy",
        "Rome|Milan|Naples*|Turin|Florence*|Bologna|Palermo|Venice*|Genoa",
    ),
    (
        "the United Kingdom",
        "London*|Manchester*|Edinburgh|Glasgow|Leeds|Liverpool|Sheffield|Bristol*|Cardiff|Belfast|Cambridge*|Oxford*|Brighton|Nottingham|Birmingham*",
    ),
    ("Ireland", "Dublin|Cork|Galway|Limerick"),
    (
        "the Netherlands",
        "Amsterdam|Rotterdam|Utrecht|Eindhoven|The Hague|Delft",
    ),
    ("Belgium", "Brussels|Antwerp|Ghent|Bruges|Leuven"),
    ("Switzerland", "Zurich|Geneva|Basel|Bern|Lausanne|Zürich"),
    ("Austria", "Vienna|Graz|Salzburg|Linz|Innsbruck"),
    ("Denmark", "Copenhagen|Aarhus|Odense"),
    ("Sweden", "Stockholm|Gothenburg|Malmö|Uppsala"),
    ("Norway", "Oslo|Bergen|Trondheim|Stavanger"),
    ("Finland", "Helsinki|Tampere|Turku|Espoo"),
    ("Poland", "Warsaw|Krakow|Kraków|Gdansk|Wroclaw|Poznan"),
    ("the Czech Republic", "Prague|Brno|Ostrava"),
    ("Hungary", "Budapest|Debrecen"),
    ("Romania", "Bucharest|Cluj"),
    ("Bulgaria", "Sofia|Plovdiv"),
    ("Greece", "Athens*|Thessaloniki"),
    ("Turkey", "Istanbul|Ankara|Izmir"),
    ("Ukraine", "Kyiv|Lviv|Odesa|Kharkiv"),
    ("Russia", "Moscow|Saint Petersburg|Novosibirsk|Kazan"),
    ("Estonia", "Tallinn|Tartu"),
    ("Latvia", "Riga"),
    ("Lithuania", "Vilnius|Kaunas"),
    ("Croatia", "Zagreb|Split|Dubrovnik"),
    ("Serbia", "Belgrade|Novi Sad"),
    ("Slovenia", "Ljubljana"),
    ("Slovakia", "Bratislava"),
    ("Iceland", "Reykjavik"),
    (
        "the United States",
        "New York|New York City|NYC|Los Angeles|Chicago|Houston|Phoenix|Philadelphia|San Antonio|San Diego|Dallas|Austin|San Jose*|San Francisco|Seattle|Denver|Boston|Detroit|Nashville|Portland|Las Vegas|Baltimore|Milwaukee|Atlanta|Miami|Minneapolis|Pittsburgh|Cleveland|Tampa|Orlando|Sacramento|Oakland|Brooklyn|Manhattan|Queens|Salt Lake City|New Orleans|Honolulu|Raleigh|Charlotte|Boulder|Palo Alto|Mountain View",
    ),
    (
        "Canada",
        "Toronto|Vancouver*|Montreal|Ottawa|Calgary|Edmonton|Quebec City|Winnipeg|Halifax*",
    ),
    (
        "Mexico",
        "Mexico City|Guadalajara|Monterrey|Puebla|Tijuana|Oaxaca|Cancún",
    ),
    (
        "Brazil",
        "São Paulo|Sao Paulo|Rio de Janeiro|Brasília|Salvador*|Fortaleza|Curitiba|Porto Alegre|Recife",
    ),
    ("Argentina", "Buenos Aires|Rosario|Mendoza"),
    ("Chile", "Santiago*|Valparaíso"),
    ("Peru", "Lima|Cusco|Arequipa"),
    ("Colombia", "Bogotá|Bogota|Medellín|Medellin|Cali"),
    ("Uruguay", "Montevideo"),
    ("Ecuador", "Quito|Guayaquil"),
    (
        "Japan",
        "Tokyo|Osaka|Kyoto|Yokohama|Sapporo|Nagoya|Fukuoka|Kobe|Hiroshima|東京|大阪|京都",
    ),
    (
        "China",
        "Beijing|Shanghai|Shenzhen|Guangzhou|Chengdu|Hangzhou|Wuhan|Nanjing|Xi'an|Suzhou|北京|上海|深圳|广州",
    ),
    ("South Korea", "Seoul|Busan|Incheon|Daegu"),
    (
        "India",
        "Mumbai|Delhi|New Delhi|Bangalore|Bengaluru|Hyderabad*|Chennai|Kolkata|Pune|Jaipur|Ahmedabad",
    ),
    ("Pakistan", "Karachi|Lahore|Islamabad"),
    ("Bangladesh", "Dhaka"),
    ("Nepal", "Kathmandu"),
    ("Thailand", "Bangkok|Chiang Mai|Phuket"),
    ("Vietnam", "Hanoi|Ho Chi Minh City|Da Nang|Saigon"),
    ("Indonesia", "Jakarta|Bandung|Surabaya|Yogyakarta"),
    ("Malaysia", "Kuala Lumpur|Penang"),
    ("the Philippines", "Manila|Cebu|Davao"),
    ("Taiwan", "Taipei|Kaohsiung"),
    ("Israel", "Tel Aviv|Jerusalem|Haifa"),
    ("Egypt", "Cairo|Alexandria*|Giza"),
    ("Morocco", "Casablanca|Rabat|Marrakesh|Fez"),
    ("Nigeria", "Lagos|Abuja|Ibadan"),
    ("Kenya", "Nairobi|Mombasa"),
    ("Ghana", "Accra|Kumasi"),
    ("Ethiopia", "Addis Ababa"),
    ("South Africa", "Cape Town|Johannesburg|Durban|Pretoria"),
    ("the United Arab Emirates", "Dubai|Abu Dhabi"),
    ("Saudi Arabia", "Riyadh|Jeddah"),
    ("Qatar", "Doha"),
    ("Lebanon", "Beirut"),
    ("Iran", "Tehran|Isfahan"),
    ("Australia", "Sydney|Melbourne|Brisbane|Perth|Adelaide|Canberra|Hobart"),
    ("New Zealand", "Auckland|Wellington|Christchurch|Queenstown"),
    ("Singapore", "Singapore"),
];

/// Regions with their countries: what lies between a city and a country.
const REGIONS: &[(&str, &str)] = &[
    (
        "the United States",
        "California|Texas|Florida|Oregon|Washington|Colorado|Arizona|Nevada|Illinois|Ohio|Michigan|Georgia|Virginia|Massachusetts|Connecticut|New Jersey|Pennsylvania|Tennessee|Utah|Minnesota|Wisconsin|Hawaii|Alaska|Maine|Vermont|Montana|Bay Area|Silicon Valley|New England|Long Island|North Carolina|South Carolina|Louisiana|Maryland|Missouri|Kansas|Iowa|Indiana|Kentucky|Idaho|New Mexico",
    ),
    ("Canada", "Ontario|Quebec|British Columbia|Alberta|Nova Scotia"),
    ("Germany", "Bavaria|Saxony|Hesse"),
    ("Spain", "Catalonia|Andalusia|Galicia"),
    ("Italy", "Tuscany|Sicily|Lombardy"),
    ("France", "Brittany|Provence|Normandy"),
    (
        "the United Kingdom",
        "England|Scotland|Wales|Northern Ireland|Cornwall|Kent|Yorkshire",
    ),
    ("India", "Kerala|Goa|Punjab|Karnataka|Maharashtra"),
    ("Australia", "Queensland|Victoria|New South Wales|Tasmania"),
    ("Portugal", "Algarve"),
];

/// Other names of countries.
const ALIASES: &[(&str, &str)] = &[
    ("uk", "united kingdom"),
    ("u.k", "united kingdom"),
    ("great britain", "united kingdom"),
    ("britain", "united kingdom"),
    ("us", "united states"),
    ("usa", "united states"),
    ("u.s", "united states"),
    ("america", "united states"),
    ("holland", "netherlands"),
    ("uae", "united arab emirates"),
    ("czechia", "czech republic"),
    ("korea", "south korea"),
    ("nyc", "new york"),
    ("new york city", "new york"),
    ("bangalore", "bengaluru"),
    ("köln", "cologne"),
    ("münchen", "munich"),
    ("zürich", "zurich"),
];

struct Place {
    size: Size,
    /// The country's name as it is written.
    country: &'static str,
    /// Whether the name alone names this place for sure.
    certain: bool,
}

static PLACES: LazyLock<HashMap<String, Place>> = LazyLock::new(|| {
    let mut places = HashMap::new();
    for (table, size) in [(CITIES, Size::City), (REGIONS, Size::Region)] {
        for (country, names) in table {
            for name in names.split('|') {
                let plain = name.trim_end_matches('*');
                let place = Place {
                    size,
                    country,
                    certain: plain == name && *country != plain,
                };
                places.entry(canonical(plain)).or_insert(place);
            }
        }
    }
    for (country, _) in CITIES {
        let place = Place {
            size: Size::Country,
            country,
            certain: false,
        };
        places.insert(canonical(country), place);
    }
    places
});

fn canonical(name: &str) -> String {
    let name = lower(name.trim());
    let name = name
        .strip_prefix("the ")
        .unwrap_or(&name)
        .trim_end_matches('.')
        .to_owned();
    ALIASES
        .iter()
        .find(|(alias, _)| *alias == name)
        .map_or(name, |(_, full)| (*full).to_owned())
}

/// The country of a city that is known and whose name leaves no doubt.
pub(in crate::offline) fn country_of(city: &str) -> Option<&'static str> {
    PLACES
        .get(&canonical(city))
        .filter(|place| place.size == Size::City && place.certain)
        .map(|place| place.country)
}

/// How two places lie to each other. "Portland, Oregon" is looked up by its first part and then by its last.
pub(in crate::offline) fn relation(a: &str, b: &str) -> Relation {
    let part = |text: &str| {
        let mut parts = text.split(',').map(canonical);
        (parts.next().unwrap_or_default(), parts.next_back())
    };
    // "Kreuzberg, Berlin": where the first part is unknown, the second decides.
    let known = |(first, second): (String, Option<String>)| match second {
        Some(around) if !PLACES.contains_key(&first) && PLACES.contains_key(&around) => (around, None),
        second => (first, second),
    };
    let ((a, a_in), (b, b_in)) = (known(part(a)), known(part(b)));
    let (Some(first), Some(second)) = (PLACES.get(&a), PLACES.get(&b)) else {
        return Relation::Unknown;
    };
    if a == b {
        return match (a_in, b_in) {
            (Some(left), Some(right)) if left != right => Relation::Unknown,
            _ => Relation::Within,
        };
    }
    let nested = |x: &str, y: &str| matches!((x, y), ("brooklyn" | "manhattan" | "queens", "new york"));
    if nested(&a, &b) || nested(&b, &a) {
        return Relation::Within;
    }
    if first.country != second.country {
        return if first.certain || second.certain || first.size == second.size {
            Relation::Apart
        } else {
            Relation::Within
        };
    }
    if first.size == second.size && first.size != Size::Region {
        Relation::Apart
    } else {
        Relation::Within
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_town_lies_in_its_country_and_not_in_another() {
        for (a, b, expected) in [
            ("Lisbon", "Portugal", Relation::Within),
            ("Lisbon", "Porto", Relation::Apart),
            ("Lisbon", "Berlin", Relation::Apart),
            ("Lisbon", "Germany", Relation::Apart),
            ("San Francisco", "California", Relation::Within),
            ("Brooklyn", "NYC", Relation::Within),
            ("the UK", "United Kingdom", Relation::Within),
            ("Springfield", "Boston", Relation::Unknown),
            ("Portland, Oregon", "Portland", Relation::Within),
            ("Portland, Oregon", "Portland, Maine", Relation::Unknown),
        ] {
            assert_eq!(relation(a, b), expected, "{a} {b}");
        }
        assert_eq!(country_of("Lisbon"), Some("Portugal"));
        assert_eq!(country_of("Cambridge"), None);
        assert_eq!(country_of("Singapore"), None);
    }
}
